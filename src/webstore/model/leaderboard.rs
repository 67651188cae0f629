//! The leaderboard: customers by the number of their orders, in one partition.

use serde::{Deserialize, Serialize};

use super::PublicCustomer;

/// The logical partition of the leaderboard.
pub const LEADERBOARD_PARTITION: &str = "customer";

/// An item of the container `customer`, as queries and projections read it: without a place for a
/// password.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CustomerChange {
    /// A customer.
    Customer(Box<VersionedCustomer>),
    /// An order.
    #[serde(other)]
    Other,
}

/// The items of the container `leaderboard`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum LeaderboardItem {
    /// The copy of a customer.
    Customer(Box<VersionedCustomer>),
}

/// What the API shows of a customer, and in which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionedCustomer {
    /// The customer.
    #[serde(flatten)]
    pub public: PublicCustomer,
    /// The version of the customer.
    pub version: u64,
}
