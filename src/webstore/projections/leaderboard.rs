//! Customers in one partition, sorted by the number of their orders.

use tributary_functions::{
    cosmos::Container,
    projection::{
        Origin, VersionedCopy,
        copies::{Copies, CopyProjection},
    },
};

use crate::{
    Customers,
    model::{CustomerChange, LEADERBOARD_PARTITION, LeaderboardItem},
};

/// The projection that updates the leaderboard.
pub type Leaderboard = CopyProjection<RankedCustomers>;

/// The customers in the leaderboard.
pub struct RankedCustomers(pub Customers);

impl Copies for RankedCustomers {
    const FUNCTION: &'static str = "Leaderboard";
    const PARTITION_KEY: &'static str = "customerId";
    // guard: passwords: a dead letter leaves them out
    const SECRETS: &'static [&'static str] = &["password"];
    type Change = CustomerChange;
    type Copy = LeaderboardItem;

    fn sources(&self) -> &Container {
        &self.0.customers
    }

    fn copies(&self) -> &Container {
        &self.0.leaderboard
    }

    fn origin(change: &CustomerChange) -> Option<Origin> {
        let CustomerChange::Customer(customer) = change else { return None };
        let id = customer.ranked.id.as_str();
        Some(Origin::new(id, id, customer.version))
    }

    fn copies_of(change: &CustomerChange) -> Vec<VersionedCopy<LeaderboardItem>> {
        let copy = change.clone().customer().map(|customer| VersionedCopy {
            partition: LEADERBOARD_PARTITION.to_owned(),
            id: customer.ranked.id.to_string(),
            version: customer.version,
            item: LeaderboardItem::Customer(customer),
        });
        copy.into_iter().collect()
    }

    fn may_be_rewritten(change: &CustomerChange) -> bool {
        matches!(change, CustomerChange::Customer(it) if it.ranked.may_be_rewritten())
    }
}
