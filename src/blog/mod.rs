//! The blogging platform: requests C1–C4 and Q1–Q6 of the seed article, model V3.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `users` | a user | the user; copies of the user's posts in short form |
//! | `users` | `username:<name>` | the reservation of a username |
//! | `posts` | a post | the post, its comments, its likes |
//! | `feed` | `post` | the 100 newest posts in short form |
//!
//! To add an operation: 1. a file in [`commands`] or [`queries`] with one handler and what it
//! decides; 2. a line in [`crate::app`]; 3. a folder in `functions/` with its `function.json`;
//! 4. a story in `tests/it/blog/`.

pub mod model;

pub mod commands;
pub mod queries;

pub mod projections;

pub mod audit;

mod newest_posts;
mod reactions;
mod stores;
mod usernames;

pub use stores::Blog;
