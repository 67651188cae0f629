//! The dead letters over HTTP, for who runs the app: look, replay, delete.
//!
//! What dead letters are, and what to do with them, is in `docs/dead-letters.md`; how they come to
//! be in [`crate::projection`].

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;

pub use delete_dead_letter::delete_dead_letter;
pub use get_dead_letter::get_dead_letter;
pub use list_dead_letters::list_dead_letters;
pub use replay_dead_letter::replay_dead_letter;
