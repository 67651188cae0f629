//! The dead letters over HTTP, for the operator of the app: read, replay, delete.
//!
//! `docs/dead-letters.md` explains dead letters and their handling; [`crate::projection`] creates
//! them.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;
mod replay_many;

pub use delete_dead_letter::delete_dead_letter;
pub use get_dead_letter::get_dead_letter;
pub use list_dead_letters::list_dead_letters;
pub use replay_dead_letter::replay_dead_letter;
pub use replay_many::{ReplayCounts, replay_many};
