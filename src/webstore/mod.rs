//! The WebStore: customers and their orders, products with their categories and tags.
//!
//! `docs/webstore.md` has the nine tables of the seed article beside these items.

pub mod model;
