//! The dead letters over HTTP, for the operator of the app: read, replay, delete.
//!
//! `docs/dead-letters.md` explains dead letters and their handling; [`crate::projection`] creates
//! them.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;
mod replay_many;

pub(crate) use delete_dead_letter::delete_dead_letter;
pub(crate) use get_dead_letter::get_dead_letter;
pub(crate) use list_dead_letters::list_dead_letters;
pub(crate) use replay_dead_letter::replay_dead_letter;
pub(crate) use replay_many::{ReplayCounts, replay_many};
