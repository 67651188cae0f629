//! Queries Q1–Q6: each touches one logical partition, one store request a page.

mod get_comment;
mod get_feed;
mod get_like;
mod get_post;
mod get_user;
mod list_comments;
mod list_likes;
mod list_user_posts;

pub use get_comment::get_comment;
pub use get_feed::get_feed;
pub use get_like::get_like;
pub use get_post::get_post;
pub use get_user::get_user;
pub use list_comments::list_comments;
pub use list_likes::list_likes;
pub use list_user_posts::list_user_posts;
