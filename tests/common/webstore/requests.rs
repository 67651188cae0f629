//! One good request of each function, for tests that call every function of the app.

use serde_json::{Value, json};

/// Method, path, body and status of one request of each function of the catalog, in an order in
/// which all of them succeed. `secret` is in each text that a caller writes.
pub(crate) fn catalog(secret: &str) -> Vec<(&'static str, &'static str, Option<Value>, u16)> {
    let name = || Some(json!({"name": secret}));
    let product = json!({
        "sku": secret, "name": secret, "description": secret, "price": 1, "tagIds": ["red"],
    });
    vec![
        ("PUT", "/api/categories/bikes", name(), 201),
        ("PUT", "/api/categories/parts", name(), 201),
        ("GET", "/api/categories/bikes", None, 200),
        ("GET", "/api/categories", None, 200),
        ("PUT", "/api/tags/red", name(), 201),
        ("PUT", "/api/tags/new", name(), 201),
        ("GET", "/api/tags/red", None, 200),
        ("GET", "/api/tags", None, 200),
        ("PUT", "/api/categories/bikes/products/b1", Some(product), 201),
        ("GET", "/api/categories/bikes/products/b1", None, 200),
        ("GET", "/api/categories/bikes/products", None, 200),
        (
            "POST",
            "/api/categories/bikes/products/b1/move",
            Some(json!({"categoryId": "parts"})),
            200,
        ),
        ("DELETE", "/api/categories/parts/products/b1", None, 204),
        ("DELETE", "/api/categories/parts", None, 204),
        ("DELETE", "/api/tags/red", None, 204),
    ]
}

/// One request of each function of customers and orders, in an order in which all of them succeed
/// where the customer `ann` has the order `order` already, and [`shelf`] is stocked.
pub(crate) fn customers(
    secret: &str,
    order: &str,
) -> Vec<(&'static str, String, Option<Value>, u16)> {
    let address = json!({"addressLine1": secret, "addressLine2": secret, "city": secret,
        "state": secret, "country": secret, "zipCode": secret});
    let ann = json!({"title": secret, "firstName": secret, "lastName": secret,
        "emailAddress": format!("{secret}@example.com"), "phoneNumber": secret,
        "addresses": [address]});
    let password = json!({"password": format!("{secret} and so on")});
    let lines = json!({"items": [{"productId": "s1", "categoryId": "shelf", "quantity": 1}]});
    let at = |path: &str| format!("/api/customers/ann{path}");
    vec![
        ("PUT", at(""), Some(ann), 200),
        ("GET", at("?include=orders"), None, 200),
        ("PUT", at("/password"), Some(password.clone()), 204),
        ("POST", at("/password/verify"), Some(password), 204),
        ("POST", at("/orders"), Some(lines), 201),
        ("GET", at("/orders"), None, 200),
        ("GET", at(&format!("/orders/{order}")), None, 200),
        ("DELETE", at(&format!("/orders/{order}")), None, 204),
    ]
}

/// Returns the requests to send before [`customers`]: a product, the customer `ann`, and an order,
/// which is the last of them.
pub(crate) fn shelf(secret: &str) -> [(&'static str, &'static str, Value); 4] {
    let product = json!({"sku": secret, "name": secret, "price": 9.99, "tagIds": []});
    let ann = json!({"firstName": secret, "lastName": secret, "emailAddress": "a@b",
        "addresses": []});
    let lines = json!({"items": [{"productId": "s1", "categoryId": "shelf", "quantity": 1}]});
    [
        ("PUT", "/api/categories/shelf", json!({"name": secret})),
        ("PUT", "/api/categories/shelf/products/s1", product),
        ("PUT", "/api/customers/ann", ann),
        ("POST", "/api/customers/ann/orders", lines),
    ]
}
