//! The commands of the WebStore: each writes one logical partition, in one transaction. The exception
//! is a move, which writes two (`webstore::moves`).

mod customers;
mod labels;
mod move_product;
mod orders;
mod put_product;

pub use customers::{put_customer, put_password, verify_password};
pub use labels::{delete_label, put_label};
pub use move_product::{delete_product, move_product};
pub use orders::{create_order, delete_order};
pub use put_product::put_product;
