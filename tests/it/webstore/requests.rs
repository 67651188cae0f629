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
