//! Commands C1–C4 and the deletes: each writes one logical partition, in one transaction.
//!
//! A command reads, decides, and writes under a precondition; when it loses a race, or the answer
//! of the store is lost, it starts over ([`crate::cosmos::retry`]). What it creates has an id and
//! a creation date that do not change between tries, so it recognises its own write. Comments and
//! likes of one post that come at the same time go together
//! ([`counted_children`](crate::engines::counted_children)).
//!
//! Each takes an [`Actor`](crate::http::Actor) and says who that must be.

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

use super::stores::BlogError;
use crate::http::ApiError;

impl From<BlogError> for ApiError {
    fn from(error: BlogError) -> Self {
        match error {
            BlogError::NoUser => Self::NotFound("user"),
            BlogError::NoPost => Self::NotFound("post"),
            BlogError::NameTaken => {
                Self::Conflict("Another user has this username. Choose another one.")
            }
            BlogError::Store(error) => error.into(),
        }
    }
}
