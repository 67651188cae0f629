//! The leaderboard: customers by the number of their orders, in one partition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CustomerId, CustomerView, PersonName};
use tributary_functions::values::{Timestamp, may_be_rewritten_by_host};

pub const LEADERBOARD_PARTITION: &str = "customer";

/// An item of the container `customer`, as the leaderboard reads it: without password, e-mail
/// address, phone number and addresses.
pub type CustomerChange = CustomerView<VersionedCustomer>;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum LeaderboardItem {
    Customer(VersionedCustomer),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionedCustomer {
    #[serde(flatten)]
    pub ranked: RankedCustomer,
    pub version: u64,
}

/// A customer in a report: the fields that are not private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RankedCustomer {
    /// The id.
    pub id: CustomerId,
    /// Equal to the id.
    pub customer_id: CustomerId,
    /// Such as `Dr.`
    pub title: Option<PersonName>,
    /// The first name.
    pub first_name: PersonName,
    /// The last name.
    pub last_name: PersonName,
    /// The number of orders of the customer.
    pub sales_order_count: u64,
    /// The date of creation.
    pub creation_date: Timestamp,
}

impl RankedCustomer {
    /// Returns true if the Functions host may have rewritten a text on its way through a trigger, so
    /// that the customer must be read again before it is copied.
    pub fn may_be_rewritten(&self) -> bool {
        let names = [self.title.as_ref(), Some(&self.first_name), Some(&self.last_name)];
        names.into_iter().flatten().map(PersonName::as_str).any(may_be_rewritten_by_host)
    }
}
