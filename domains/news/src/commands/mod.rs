//! The commands. Each write has a condition on the state that was read.

mod post_item;
mod post_items;
mod runs;

pub use post_item::post_item;
pub use post_items::{MAX_BATCH_ANSWER_BYTES, MAX_BATCH_BODY_BYTES, post_items};
pub use runs::{archive_items, migrate_items};
