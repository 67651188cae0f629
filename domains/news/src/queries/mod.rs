//! The queries.

mod filter;
mod items;
mod merged_list;
mod part;
mod router;

pub use items::{get_item, list_items, search_items};
