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

use tributary_functions::prelude::*;

use crate::model::CustomerChange;

impl ChangeFeedItem for CustomerChange {
    const PARTITION_KEY: &'static str = "customerId";
    const SECRETS: &'static [&'static str] = &["password"];

    fn origin(&self) -> Option<Origin> {
        let Self::Customer(customer) = self else { return None };
        Some(Origin::root(&customer.ranked.id, customer.version))
    }
}
