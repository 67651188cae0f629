//! What keeps the copied names of the catalog true. See [`crate::projection`] for how.
//!
//! | projection | reads | keeps true |
//! | --- | --- | --- |
//! | [`LabelNames`] | `productMeta` | the names of categories and tags in products, after a rename |
//! | [`ProductsIntegrity`] | `product` | the same, for what was written during the rename; every category and tag in use exists; every move ends |

mod label_names;
mod names_in_products;
mod products_integrity;

pub use label_names::LabelNames;
pub use products_integrity::ProductsIntegrity;
