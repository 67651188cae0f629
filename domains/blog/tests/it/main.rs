//! Stories of the blog, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::{at_once, budgets, expect};

mod counts;
mod create_comment;
mod create_post;
mod create_user;
mod crowds;
mod delete_comment;
mod delete_post;
mod get_comment;
mod get_feed;
mod get_like;
mod get_post;
mod get_user;
mod given;
mod like_post;
mod list_comments;
mod list_likes;
mod list_user_posts;
mod own_writes;
mod proofs;
mod put_post;
mod put_user;
mod unlike_post;
mod usernames;
mod world;
mod wrong_counts;
