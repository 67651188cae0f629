//! The functions of the news, one file for each, as in `functions/`.

mod archive_news;
mod audit_news;
mod get_news_item;
mod list_news_items;
mod news_migration;
mod post_news_item;
mod post_news_items;
mod search_news;

mod classes;
mod interleavings;
mod late_moves;
mod moving_clock;
mod page_bounds;
mod poisoned;
mod refused_moves;
mod slices;

mod access;
mod costs;

pub(crate) mod every_query;
pub(crate) mod given;
pub(crate) mod requests;
