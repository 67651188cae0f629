//! The commands of the WebStore: each writes one logical partition, in one transaction. The exception
//! is a move, which writes two (`webstore::moves`).

mod delete_label;
mod put_label;

mod delete_product;
mod move_product;
mod put_product;

mod put_customer;
mod put_password;
mod verify_password;

mod create_order;
mod delete_order;

pub use create_order::create_order;
pub use delete_label::delete_label;
pub use delete_order::delete_order;
pub use delete_product::delete_product;
pub use move_product::move_product;
pub use put_customer::put_customer;
pub use put_label::put_label;
pub use put_password::put_password;
pub use put_product::put_product;
pub use verify_password::verify_password;
