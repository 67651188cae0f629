//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.

mod ids;
mod money;

pub use ids::{CategoryId, CustomerId, OrderId, ProductId, TagId};
pub use money::{Money, Price, Quantity};
