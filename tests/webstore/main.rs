//! The functions of the WebStore, one file for each, as in `functions/`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../common/mod.rs"]
mod common;
use common::{
    budgets, expect, handler,
    webstore::{given, shop},
    world,
};

mod delete_category;
mod list_categories;
mod put_category;

mod delete_product;
mod list_products;
mod move_product;
mod put_product;

mod get_customer;
mod put_customer;
mod put_password;
mod verify_password;

mod create_order;
mod delete_order;
mod list_orders;

mod leaderboard;
mod top_customers;

mod audit;
mod audit_customers;
mod costs;
mod counts;
mod customer_costs;
mod label_names;
mod late_deliveries;
mod own_writes;
mod poisoned_names;
mod products_integrity;
mod proofs;
mod renames_under_edits;
mod secrets;
