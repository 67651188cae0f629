//! The functions of the news, one file for each, as in `functions/`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../common/mod.rs"]
mod common;
use common::{
    budgets,
    news::{given, requests},
    world,
};

mod archive_news;
mod audit_news;
mod get_news_item;
mod list_news_items;
mod news_migration;
mod post_news_item;
mod post_news_items;
mod search_news;

mod classes;
mod late_moves;
mod page_bounds;
mod poisoned;
mod races;
mod refused_moves;
mod slices;

mod costs;
