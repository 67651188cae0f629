//! The projections of the change feed.

mod copies;
mod removals_of_any_size;
mod renames_of_any_size;
