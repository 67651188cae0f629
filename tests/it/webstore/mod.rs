//! The functions of the WebStore, one file for each, as in `functions/`.

mod delete_category;
mod list_categories;
mod put_category;

mod delete_product;
mod list_products;
mod move_product;
mod put_product;

mod access;
mod costs;
mod label_names;
mod products_integrity;
mod random_moves;

pub(crate) mod every_query;
pub(crate) mod requests;
pub(crate) mod shop;
