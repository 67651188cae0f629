//! The queries.

mod filter;
mod get_item;
mod list_items;
mod merged_list;
mod part;
mod router;
mod search_items;

pub use get_item::get_item;
pub use list_items::list_items;
pub use search_items::search_items;
