//! Commands C1–C4 and the deletes: each writes one logical partition, in one transaction.
//!
//! A command reads, decides, and writes under a precondition. After a lost race, or a lost response
//! of the store, it starts over ([`tributary_functions::cosmos::retry`]). The id and the creation date
//! of a new item do not change between attempts, so a command recognises its own write. Comments and
//! likes of one post that arrive at the same time are written together
//! ([`counted_children`](tributary_functions::engines::counted_children)).
//!
//! Each command takes an [`Actor`](tributary_functions::http::Actor), and states the user that the
//! actor must be.

mod comments;
mod likes;
mod posts;
mod users;

pub use comments::{create_comment, delete_comment};
pub use likes::{like_post, unlike_post};
pub use posts::{create_post, delete_post, put_post};
pub use users::{create_user, put_user};
