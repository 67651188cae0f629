//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.

mod customer;
mod ids;
mod label;
mod leaderboard;
mod money;
mod order;
mod password;
mod product;
pub mod sizes;

pub use customer::*;
pub use ids::*;
pub use label::*;
pub use leaderboard::*;
pub use money::*;
pub use order::*;
pub use password::*;
pub use product::*;
