//! One good request of each function, for tests that call every function of the app.

use serde_json::{Value, json};
use tributary_functions::values::Timestamp;

/// Method, path, body and status of one request of each function, in an order in which all of them
/// succeed. `secret` is in each text that a caller writes, and `provider` is the provider's id.
pub(crate) fn all(secret: &str, provider: &str) -> Vec<(&'static str, String, Option<Value>, u16)> {
    let item = |part: &str| {
        json!({"feedProviderId": provider, "title": secret, "content": secret,
            "publishedDate": Timestamp::now().to_string(), "tags": [secret],
            "sourceUrl": format!("https://example.com/{part}"), "metadata": {"note": secret}})
    };
    let (list, search) = ("/api/news/items".to_owned(), "/api/news/search?q=text".to_owned());
    let batch = json!({"items": [item("b"), {"title": secret}]});
    vec![
        ("POST", list.clone(), Some(item("a")), 201),
        ("POST", format!("{list}/batch"), Some(batch), 200),
        ("GET", list, None, 200),
        ("GET", search, None, 200),
        ("POST", "/api/news/migrate".to_owned(), None, 200),
        ("POST", "/api/news/archive?dryRun=true".to_owned(), None, 200),
        ("POST", "/api/news/archive".to_owned(), None, 200),
    ]
}

/// The path of an item as a function has answered with it.
pub(crate) fn path(item: &Value) -> String {
    let [key, id] = ["partitionKey", "id"].map(|name| item[name].as_str().unwrap());
    format!("/api/news/items/{key}/{id}")
}
