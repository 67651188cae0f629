//! The queries of the WebStore: each is one store request in one logical partition, top customers
//! excepted.

mod get_label;
mod list_labels;

mod get_product;
mod list_products;

mod get_customer;
mod get_order;
mod get_top_customers;
mod list_orders;

pub use get_customer::{MAX_INCLUDED_ORDERS, get_customer};
pub use get_label::get_label;
pub use get_order::get_order;
pub use get_product::get_product;
pub use get_top_customers::get_top_customers;
pub use list_labels::list_labels;
pub use list_orders::list_orders;
pub use list_products::list_products;

pub(super) use list_orders::ORDER_LIST;
