//! The WebStore: customers and their orders, products with their categories and tags.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `product` | a category | its products |
//! | `productMeta` | `category`, `tag` | all categories; all tags |
//!
//! `docs/webstore.md` has the nine tables of the seed article beside these items.

pub mod model;

pub mod commands;
pub mod queries;

pub mod projections;

mod catalog;
mod moves;

pub use catalog::Catalog;

use std::sync::Arc;

use axum::extract::FromRef;

use self::{
    commands::{
        delete_category, delete_product, delete_tag, move_product, put_category, put_product,
        put_tag,
    },
    model::{LABEL_BYTES, PRODUCT_BYTES},
    projections::{LabelNames, ProductsIntegrity},
    queries::{get_category, get_product, get_tag, list_categories, list_products, list_tags},
};
use crate::{
    config::ConfigError,
    domain::{Context, Domain, bind},
    http::{AuthLevel, Footprint, HttpFunction, delete, get, post, put},
};

/// What the handlers of the WebStore take as their `State`: a part of it.
#[derive(Clone)]
pub struct WebStore {
    catalog: Catalog,
}

impl FromRef<WebStore> for Catalog {
    fn from_ref(store: &WebStore) -> Self {
        store.catalog.clone()
    }
}

/// Returns the WebStore as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let catalog = Catalog::new(context.cosmos);
    let store = WebStore { catalog: catalog.clone() };
    Ok(Domain {
        http_functions: bind(http_functions(), &store),
        projections: vec![
            Arc::new(LabelNames::new(&catalog, context.background)),
            Arc::new(ProductsIntegrity::new(&catalog)),
        ],
        containers: vec![catalog.products, catalog.labels],
        ..Domain::new("webstore")
    })
}

/// The HTTP functions: commands need a function key, queries are for everybody.
#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<WebStore>> {
    use AuthLevel::{Anonymous, Function};
    let labels   = Footprint::Page { item: LABEL_BYTES, limit: 20 };
    let product  = Footprint::Item(PRODUCT_BYTES);
    let products = Footprint::Page { item: PRODUCT_BYTES, limit: 20 };
    vec![
        // Categories and tags.
        put("PutCategory",       "/api/categories/{categoryId}",                            Function,  put_category),
        get("GetCategory",       "/api/categories/{categoryId}",                            Anonymous, get_category),
        get("ListCategories",    "/api/categories",                                         Anonymous, list_categories).answers(labels),
        delete("DeleteCategory", "/api/categories/{categoryId}",                            Function,  delete_category),
        put("PutTag",            "/api/tags/{tagId}",                                       Function,  put_tag),
        get("GetTag",            "/api/tags/{tagId}",                                       Anonymous, get_tag),
        get("ListTags",          "/api/tags",                                               Anonymous, list_tags).answers(labels),
        delete("DeleteTag",      "/api/tags/{tagId}",                                       Function,  delete_tag),
        // Products.
        put("PutProduct",        "/api/categories/{categoryId}/products/{productId}",       Function,  put_product).answers(product),
        get("GetProduct",        "/api/categories/{categoryId}/products/{productId}",       Anonymous, get_product).answers(product),
        get("ListProducts",      "/api/categories/{categoryId}/products",                   Anonymous, list_products).answers(products),
        post("MoveProduct",      "/api/categories/{categoryId}/products/{productId}/move",  Function,  move_product).answers(product),
        delete("DeleteProduct",  "/api/categories/{categoryId}/products/{productId}",       Function,  delete_product).answers(product),
    ]
}
