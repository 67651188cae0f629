//! The functions of the blog, one file for each, as in `functions/`.

mod create_user;
mod get_user;
mod put_user;
mod usernames;

mod create_post;
mod delete_post;
mod get_post;
mod put_post;

mod create_comment;
mod delete_comment;
mod get_comment;
mod list_comments;

mod get_like;
mod like_post;
mod list_likes;
mod unlike_post;

mod get_feed;
mod list_user_posts;

mod counts;
mod crowds;
mod proofs;

pub(crate) mod given;
