//! The queries of the WebStore: each is one store request in one logical partition, top customers
//! excepted.

mod label;
mod name_key;

mod get_category;
mod get_tag;
mod list_categories;
mod list_tags;

mod get_product;
mod list_products;

mod get_customer;
mod get_order;
mod get_top_customers;
mod list_orders;

pub use get_category::get_category;
pub use get_customer::{INCLUDED_ORDERS, get_customer};
pub use get_order::get_order;
pub use get_product::get_product;
pub use get_tag::get_tag;
pub use get_top_customers::get_top_customers;
pub use list_categories::list_categories;
pub use list_orders::list_orders;

pub(super) use list_orders::ORDERS;
pub use list_products::list_products;
pub use list_tags::list_tags;
