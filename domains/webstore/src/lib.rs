//! The WebStore: customers and their orders, products with their labels (categories and tags).
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `customer` | a customer | the customer, with addresses and password; its orders |
//! | `leaderboard` | `customer` | customers by the number of their orders |
//! | `product` | a category | its products |
//! | `productMeta` | `category`, `tag` | all categories; all tags |
//!
//! `docs/webstore.md` has the nine tables of the seed article beside these items.

#![allow(missing_docs, reason = "a domain is no library: a name may say it all")]

pub mod model;

pub mod commands;
pub mod queries;

pub mod audit;
pub mod projections;

mod moves;
mod orders;
mod state;

pub use state::WebStore;

use std::sync::Arc;

use tributary_functions::{
    http::{Footprint, WorkQueue},
    prelude::*,
};

use self::{
    commands::{
        create_order, delete_label, delete_order, delete_product, move_product, put_customer,
        put_label, put_password, put_product, verify_password,
    },
    model::{CategoryId, TagId, sizes},
    projections::{LabelNames, Leaderboard, NamesInProducts, ProductsIntegrity},
    queries::{
        MAX_INCLUDED_ORDERS, get_customer, get_label, get_order, get_product, get_top_customers,
        list_labels, list_orders, list_products,
    },
};

pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let store = WebStore::new(context.cosmos);
    let names = NamesInProducts(store.latest_committed());
    Ok(Domain {
        http_functions: bind(http_functions(), &store),
        projections: vec![
            Arc::new(LabelNames::new(names, &store.labels, &store.products, context.background)),
            Arc::new(ProductsIntegrity::new(&store)),
            Arc::new(Leaderboard::new(&store.customers, &store.leaderboard)),
        ],
        audit: Some(audit::audit(&store)),
        containers: vec![store.products, store.labels, store.customers, store.leaderboard],
        // When a tag is renamed, every product that has the tag has an older version of it.
        unindexed_filters: vec![("product", "tags/[]/version")],
        ..Domain::new("webstore")
    })
}

const CUSTOMER_QUERY: [QueryParameter; 1] =
    [QueryParameter::new("include", "`orders`: the answer has the newest 100 orders, too.")
        .example("orders")];

const RANKING_QUERY: [QueryParameter; 2] = [
    QueryParameter::new("limit", "The number of customers: 1 to 100, by default 10.").example("20"),
    QueryParameter::new("source", "`query`, by default, or `leaderboard`: the projection.")
        .example("leaderboard"),
];

/// Returns the HTTP functions. Commands of the catalog need a function key, its queries are public.
/// A customer, with its orders and its password, is for the user with its id, queries included.
#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<WebStore>> {
    let labels   = Footprint::Page { item: sizes::LABEL_BYTES, limit: 20 };
    let product  = Footprint::Item(sizes::PRODUCT_BYTES);
    let products = Footprint::Page { item: sizes::PRODUCT_BYTES, limit: 20 };
    let customer = Footprint::Item(sizes::CUSTOMER_BYTES);
    // While one of two requests hashes, the other reads or writes the store. A processor makes four
    // to fifteen hashes a second, so the last of 32 requests waits two to eight seconds.
    let hashes   = WorkQueue::new(2, 32);
    let order    = Footprint::Item(sizes::ORDER_BYTES);
    let orders   = Footprint::Page { item: sizes::ORDER_BYTES, limit: 20 };
    let included = Footprint::ItemWith {
        item: sizes::CUSTOMER_BYTES,
        parameter: "include",
        more: MAX_INCLUDED_ORDERS as usize * sizes::ORDER_BYTES,
    };
    let ranking  = Footprint::Page { item: sizes::RANKED_CUSTOMER_BYTES, limit: 10 };
    vec![
        // Labels: categories and tags.
        put("PutCategory", "/api/categories/{categoryId}", Function, put_label::<CategoryId>),
        get("GetCategory", "/api/categories/{categoryId}", Anonymous, get_label::<CategoryId>),
        get("ListCategories", "/api/categories", Anonymous, list_labels::<CategoryId>)
            .answers(labels),
        delete("DeleteCategory", "/api/categories/{categoryId}", Function,
            delete_label::<CategoryId>),
        put("PutTag", "/api/tags/{tagId}", Function, put_label::<TagId>),
        get("GetTag", "/api/tags/{tagId}", Anonymous, get_label::<TagId>),
        get("ListTags", "/api/tags", Anonymous, list_labels::<TagId>).answers(labels),
        delete("DeleteTag", "/api/tags/{tagId}", Function, delete_label::<TagId>),
        // Products.
        put("PutProduct", "/api/categories/{categoryId}/products/{productId}", Function,
            put_product).answers(product),
        get("GetProduct", "/api/categories/{categoryId}/products/{productId}", Anonymous,
            get_product).answers(product).reads_copies_of(&[LabelNames::FUNCTION]),
        get("ListProducts", "/api/categories/{categoryId}/products", Anonymous, list_products)
            .answers(products).reads_copies_of(&[LabelNames::FUNCTION]),
        post("MoveProduct", "/api/categories/{categoryId}/products/{productId}/move", Function,
            move_product).answers(product).edits(),
        delete("DeleteProduct", "/api/categories/{categoryId}/products/{productId}", Function,
            delete_product).answers(product),
        // Customers and passwords. A customer is never deleted: its orders are the shop's books.
        put("PutCustomer", "/api/customers/{customerId}", Owner, put_customer).answers(customer),
        get("GetCustomer", "/api/customers/{customerId}", Owner, get_customer)
            .answers(included).reads(&CUSTOMER_QUERY),
        put("PutPassword", "/api/customers/{customerId}/password", Owner, put_password)
            .queued(&hashes),
        post("VerifyPassword", "/api/customers/{customerId}/password/verify", Owner,
            verify_password).queued(&hashes),
        // Orders.
        post("CreateOrder", "/api/customers/{customerId}/orders", Owner, create_order)
            .answers(order),
        get("ListOrders", "/api/customers/{customerId}/orders", Owner, list_orders).answers(orders),
        get("GetOrder", "/api/customers/{customerId}/orders/{orderId}", Owner, get_order)
            .answers(order),
        delete("DeleteOrder", "/api/customers/{customerId}/orders/{orderId}", Owner, delete_order),
        // Reports.
        get("GetTopCustomers", "/api/reports/top-customers", Function, get_top_customers)
            .answers(ranking).reads(&RANKING_QUERY).reads_copies_of(&[Leaderboard::FUNCTION]),
    ]
}
