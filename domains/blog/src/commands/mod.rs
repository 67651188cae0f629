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

mod create_comment;
mod create_post;
mod create_user;
mod delete_comment;
mod delete_post;
mod like_post;
mod put_post;
mod put_user;
mod unlike_post;

pub use create_comment::create_comment;
pub use create_post::create_post;
pub use create_user::create_user;
pub use delete_comment::delete_comment;
pub use delete_post::delete_post;
pub use like_post::like_post;
pub use put_post::put_post;
pub use put_user::put_user;
pub use unlike_post::unlike_post;
