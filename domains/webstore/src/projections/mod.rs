//! The projections that update the WebStore's copies, by [`tributary_functions::projection`].
//!
//! | projection | reads | updates |
//! | --- | --- | --- |
//! | [`LabelNames`] | `productMeta` | the names of labels in products, after a rename |
//! | [`ProductsIntegrity`] | `product` | the same, for products written during the rename; every label in use exists; every move ends |
//! | [`Leaderboard`] | `customer` | customers by the number of their orders, in `leaderboard` |

mod label_names;
mod leaderboard;
mod products_integrity;

pub use label_names::{LabelNames, NamesInProducts};
pub use leaderboard::{Leaderboard, RankedCustomers};
pub use products_integrity::ProductsIntegrity;
