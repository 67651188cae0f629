//! The items, their rules, and bodies. Pure: no input, no output, nothing of Cosmos DB.

mod customer;
mod label;
mod money;
mod order;
mod password;
mod product;
pub mod sizes;

pub use customer::*;
pub use label::*;
pub use money::*;
pub use order::*;
pub use password::*;
pub use product::*;
