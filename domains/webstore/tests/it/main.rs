//! Stories of the WebStore, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::{budgets, expect};

mod audit;
mod audit_customers;
mod costs;
mod counts;
mod create_order;
mod customer_costs;
mod delete_category;
mod delete_order;
mod delete_product;
mod get_customer;
mod given;
mod label_names;
mod leaderboard;
mod list_categories;
mod list_orders;
mod list_products;
mod move_product;
mod own_writes;
mod poisoned_names;
mod products_integrity;
mod proofs;
mod put_category;
mod put_customer;
mod put_password;
mod put_product;
mod renames_under_edits;
mod shop;
mod top_customers;
mod verify_password;
mod world;
