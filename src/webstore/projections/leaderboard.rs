//! Customers in one partition, sorted by the number of their orders.

use tributary_functions::{
    cosmos::{Container, StoreError},
    projection::{Delivered, Effect, Projection, VersionedCopy},
};

use crate::webstore::{
    Customers,
    model::{CustomerChange, LEADERBOARD_PARTITION, LeaderboardItem, VersionedCustomer},
};

/// Keeps the leaderboard true to the customers: each copy is a [`VersionedCopy`].
pub struct Leaderboard(pub Customers);

impl Projection for Leaderboard {
    const FUNCTION: &'static str = "Leaderboard";
    const PARTITION_KEY: &'static str = "customerId";
    const SECRETS: &'static [&'static str] = &["password"];
    type Change = CustomerChange;

    fn container(&self) -> &Container {
        &self.0.customers
    }

    fn source(change: &CustomerChange) -> Option<(String, u64)> {
        let customer = customer(change.clone())?;
        Some((customer.ranked.id.to_string(), customer.version))
    }

    async fn apply(&self, change: &CustomerChange) -> Result<Effect, StoreError> {
        let Some(delivered) = customer(change.clone()) else {
            return Ok(Effect::Unchanged);
        };
        let customer = if delivered.ranked.may_be_rewritten() {
            self.latest(&delivered).await?
        } else {
            Some(delivered)
        };
        match customer {
            Some(customer) => copy_of(customer).write(&self.0.leaderboard).await,
            None => Ok(Effect::Unchanged),
        }
    }
}

impl Leaderboard {
    /// The customer again, in this version or a newer one, as the store has it.
    async fn latest(
        &self,
        delivered: &VersionedCustomer,
    ) -> Result<Option<Box<VersionedCustomer>>, StoreError> {
        let id = delivered.ranked.id.as_str();
        let version = |change: &CustomerChange| match change {
            CustomerChange::Customer(customer) => Some(customer.version),
            CustomerChange::Other => None,
        };
        let read = Delivered(delivered.version).read(&self.0.customers, (id, id), version);
        Ok(read.await?.and_then(|stored| customer(stored.item)))
    }
}

fn customer(change: CustomerChange) -> Option<Box<VersionedCustomer>> {
    match change {
        CustomerChange::Customer(customer) => Some(customer),
        CustomerChange::Other => None,
    }
}

/// The copy of a customer in the leaderboard.
fn copy_of(customer: Box<VersionedCustomer>) -> VersionedCopy<LeaderboardItem> {
    VersionedCopy {
        partition: LEADERBOARD_PARTITION.to_owned(),
        id: customer.ranked.id.to_string(),
        version: customer.version,
        item: LeaderboardItem::Customer(customer),
    }
}
