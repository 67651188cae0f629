//! Stories of the news, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::budgets;

mod archive_news;
mod audit_news;
mod classes;
mod costs;
mod get_news_item;
mod given;
mod late_moves;
mod list_news_items;
mod news_migration;
mod page_bounds;
mod poisoned;
mod post_news_item;
mod post_news_items;
mod races;
mod refused_moves;
mod search_news;
mod slices;
mod world;
