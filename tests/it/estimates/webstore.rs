//! The WebStore: `customer` and `product`.

use serde_json::{Value, json};

use super::{BATCH, CREATE, Example, PARTITIONS, QUERY, READ, REPLACE, Way, popular, text, way};
use crate::{
    webstore::{self as given, customer, label, line, order_of},
    world::World,
};

const CATEGORIES: usize = 12;
const TAGS: usize = 10;
const PRODUCTS: usize = 200;
const CUSTOMERS: usize = 60;
const ORDERS: usize = 300;

#[tokio::test]
async fn the_requests_of_the_webstore_cost_what_the_validator_says() {
    let world = webstore().await;
    let product =
        Example { container: "product", key: "/categoryId", requests: "product.requests.jsonl" };
    product.compare(&world, &OF_PRODUCTS).await;
    let customer =
        Example { container: "customer", key: "/customerId", requests: "customer.requests.jsonl" };
    customer.compare(&world, &OF_CUSTOMERS).await;
}

const OF_PRODUCTS: [Way; 4] = [
    way("a product", READ, |product, _| ("GET", path(product), None)),
    way("products of a category", QUERY, |product, _| {
        ("GET", format!("/api/categories/{}/products", text(product, "categoryId")), None)
    }),
    way("create a product", CREATE, |product, n| {
        let id = format!("new-{n}");
        ("PUT", given::path(text(product, "categoryId"), &id), Some(a_product(n)))
    }),
    way("edit the price of a product", REPLACE, |product, n| {
        let mut edited = product.clone();
        let tags = product["tags"].as_array().into_iter().flatten();
        edited["tagIds"] = tags.map(|tag| tag["id"].clone()).collect();
        let fields = ["sku", "name", "description", "tagIds"];
        let mut body: Value =
            fields.iter().map(|field| ((*field).to_owned(), edited[field].clone())).collect();
        body["price"] = json!(10_000 + n);
        ("PUT", path(product), Some(body))
    }),
];

const OF_CUSTOMERS: [Way; 4] = [
    way("a customer", READ, |customer, _| ("GET", of(customer, ""), None)),
    way("orders of a customer", QUERY, |item, _| ("GET", of(item, "/orders"), None)),
    way("order, in one transaction with the count of the customer", BATCH, |item, n| {
        ("POST", of(item, "/orders"), Some(json!({"items": lines(n)})))
    }),
    way("top customers", QUERY, |_, _| ("GET", "/api/reports/top-customers?limit=10".into(), None)),
];

fn path(product: &Value) -> String {
    given::path(text(product, "categoryId"), text(product, "id"))
}

fn of(item: &Value, rest: &str) -> String {
    format!("/api/customers/{}{rest}", text(item, "customerId"))
}

/// Few categories have most products, and few customers have most orders.
async fn webstore() -> World {
    let world = World::with_partitions(PARTITIONS).await;
    for n in 0..CATEGORIES {
        label(&world, &format!("categories/{}", category(n)), "A category").await.expect(201);
    }
    for n in 0..TAGS {
        label(&world, &format!("tags/tag-{n:03}"), "A tag").await.expect(201);
    }
    for n in 0..PRODUCTS {
        let path = given::path(&category(popular(n, CATEGORIES)), &product(n));
        world.put(&path, a_product(n)).await.expect(201);
    }
    for n in 0..CUSTOMERS {
        let id = format!("customer-{n:05}");
        customer(&world, &id).await.expect(201);
    }
    for n in 0..ORDERS {
        order_of(&world, &format!("customer-{:05}", popular(n, CUSTOMERS)), &lines(n))
            .await
            .expect(201);
    }
    world.settle().await;
    world
}

fn a_product(n: usize) -> Value {
    let tags: Vec<String> = (0..n % 4).map(|m| format!("tag-{:03}", (n + 3 * m) % TAGS)).collect();
    json!({"sku": format!("SKU-{n}"), "name": format!("Product {n}"), "price": n + 1, "tagIds": tags,
        "description": "d".repeat(n % 500)})
}

fn lines(n: usize) -> Vec<Value> {
    // Two products of one category.
    let of_category = |m: usize| line(&category(popular(m, CATEGORIES)), &product(m), 1);
    vec![of_category(n % PRODUCTS)]
}

fn category(n: usize) -> String {
    format!("category-{n:03}")
}

fn product(n: usize) -> String {
    format!("product-{n:05}")
}
