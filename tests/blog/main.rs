//! The functions of the blog, one file for each, as in `functions/`: stories told through the app's
//! router, the real SDK and the local Cosmos DB endpoint. Every file of the folder is a module: a new
//! story needs no line here, but this file must be touched once to be built again
//! (`common::complete::every_story_is_run` says so).

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../common/mod.rs"]
mod common;
use common::{at_once, blog as given, budgets, expect, world};

automod::dir!("tests/blog");
