//! Customers in one partition, sorted by the number of their orders.

use tributary_functions::prelude::*;

use crate::model::{CustomerChange, LEADERBOARD_PARTITION, LeaderboardItem};

impl ChangeFeedItem for CustomerChange {
    const PARTITION_KEY: &'static str = "customerId";
    const SECRETS: &'static [&'static str] = &["password"];

    fn origin(&self) -> Option<Origin> {
        let Self::Customer(customer) = self else { return None };
        Some(Origin::root(&customer.ranked.id, customer.version))
    }
}

pub type Leaderboard = CopyProjection<RankedCustomers>;

pub struct RankedCustomers;

impl Copies for RankedCustomers {
    const FUNCTION: &'static str = "Leaderboard";
    type Change = CustomerChange;
    type Copy = LeaderboardItem;

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

impl AuditedCopies for RankedCustomers {
    const PARTITION_KEY: &'static str = "type";

    fn source(copy: &LeaderboardItem) -> Option<(String, String)> {
        let LeaderboardItem::Customer(customer) = copy;
        let id = customer.ranked.id.to_string();
        Some((id.clone(), id))
    }
}
