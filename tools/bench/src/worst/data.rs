//! A store whose items are as large as the API accepts them, and more of them than a page shows.

use std::time::Duration;

use anyhow::ensure;
use http::Method;
use serde_json::{Value, json};
use tributary_functions::{http::CONSISTENCY_TOKEN, values::Timestamp};
use tributary_local::client::Call;

use crate::{
    handler::{Connection, MeasuredHandler},
    world::{BenchWorld, send_all},
};

/// More items than a page and than the feed.
pub(super) const MORE_THAN_A_PAGE: usize = 120;
pub(super) const MAX_PARTS: usize = 50;
/// Providers of news, and the months in which each published.
pub(super) const PROVIDERS: usize = 20;
const MONTHS: usize = 72;
/// Posts of 512 KiB: one with all comments and likes, the others to be edited and deleted.
pub(super) const LARGE_POSTS: usize = 4;
/// Items that no projection can read. Each is a dead letter of every projection of its container.
const N_POISONED: usize = 34;
const MONTH: Duration = Duration::from_hours(30 * 24);

pub(super) struct Data {
    pub(super) now: Timestamp,
    pub(super) comments: Vec<String>,
    pub(super) orders: Vec<String>,
    pub(super) news: Vec<String>,
    pub(super) dead_letters: Vec<String>,
    /// That of a post which no trigger has applied.
    pub(super) token: String,
}

impl Data {
    /// Fills the store through the API, with all copies, and reads the ids.
    pub(super) async fn make(world: &BenchWorld) -> anyhow::Result<Self> {
        let now = Timestamp::now();
        let handler = MeasuredHandler::ready_on(&world.app).await?;
        let connection = &handler.connection;
        for (what, step) in steps(now) {
            eprintln!("Making {what}: {} requests", step.len());
            send_all(&handler, step).await?;
        }
        let posts = world.container("posts").await?;
        for number in 0..N_POISONED {
            let id = id("poisoned", number);
            let raw = "x".repeat(500_000);
            let item = json!({"id": id, "postId": id, "type": "poem", "raw": raw});
            posts.upsert_item(id.clone(), &id, &item, None).await?;
        }
        eprintln!("Delivering the changes");
        world.drain(&handler, &[]).await?;
        let migrate = Call::new(Method::POST, "/api/news/migrate");
        while connection.send(&migrate, "migrate").await?.json()["migrated"] != 0 {}
        let comments = format!("{}/comments", post_path(&large_post(0)));
        let orders = format!("{}/orders", customer_path(0));
        let write = Call::put(post_path(&large_post(3)), post_body(0));
        let written = connection.send(&write, "write").await?;
        let data = Self {
            token: written.header(&CONSISTENCY_TOKEN).unwrap_or_default().to_owned(),
            now,
            comments: ids(connection, &comments, &["id"]).await?,
            orders: ids(connection, &orders, &["id"]).await?,
            news: ids(connection, "/api/news/items?provider=p0", &["partitionKey", "id"]).await?,
            dead_letters: ids(connection, "/api/dead-letters?limit=100", &["id"]).await?,
        };
        handler.stop().await?;
        Ok(data)
    }
}

async fn ids(connection: &Connection, path: &str, fields: &[&str]) -> anyhow::Result<Vec<String>> {
    let reply = connection.send(&Call::get(path), "ids").await?;
    ensure!(reply.status.is_success(), "{path} was answered {}", reply.status);
    let list = reply.json();
    let items = list["items"].as_array().into_iter().flatten();
    let part = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    let id = |item| fields.iter().map(|field| part(item, field)).collect::<Vec<_>>().join("/");
    let ids: Vec<String> = items.map(id).collect();
    ensure!(!ids.is_empty(), "{path} has no items");
    Ok(ids)
}

fn steps(now: Timestamp) -> Vec<(&'static str, Vec<Call>)> {
    let many = |call: &dyn Fn(usize) -> Call| (0..MORE_THAN_A_PAGE).map(call).collect::<Vec<_>>();
    let product = |category, n| Call::put(product_path(category, n), product_body(n, "Product"));
    let large = |n| Call::put(post_path(&large_post(n)), large_post_body());
    let mut products = many(&|n| product(0, n));
    products.extend((1..MAX_PARTS).map(|n| product(n, n)));
    vec![
        ("users", many(&|n| Call::put(user_path(n), user_body(n)))),
        ("posts", many(&|n| Call::put(post_path(&id("post", n)), post_body(n)))),
        ("posts of 512 KiB", (0..LARGE_POSTS).map(large).collect()),
        ("comments", many(&|n| comment(0, n))),
        ("likes", many(&|n| Call::new(Method::PUT, like_path(0, n)))),
        ("categories", many(&|n| Call::put(label_path("categories", n), label(n)))),
        ("tags", many(&|n| Call::put(label_path("tags", n), label(n)))),
        ("products", products),
        ("customers", many(&|n| Call::put(customer_path(n), customer_body(n)))),
        ("orders", many(&|n| order(0).key(format!("order {n}")))),
        ("large news", many(&|n| post_news(large_news_item(now, n)))),
        ("months of news", (0..PROVIDERS).map(|n| old_news(now, n)).collect()),
    ]
}

pub(super) fn wide(characters: usize) -> String {
    "\u{1f409}".repeat(characters)
}

/// Returns a text of characters that JSON writes with six bytes each.
fn control(characters: usize) -> String {
    "\u{1}".repeat(characters)
}

/// Returns a text that is as large as possible in the store (odd numbers), or as JSON (even ones).
fn largest(number: usize, characters: usize) -> String {
    if number.is_multiple_of(2) { control(characters) } else { wide(characters) }
}

pub(super) fn id(kind: &str, number: usize) -> String {
    format!("{kind}{number:0>width$}", width = 128 - kind.len())
}

pub(super) fn large_post(number: usize) -> String {
    id("large", number)
}

pub(super) fn user_path(number: usize) -> String {
    format!("/api/users/{}", id("u", number))
}

pub(super) fn user_body(number: usize) -> Value {
    json!({"username": format!("{number:0>4}{}", wide(60))})
}

pub(super) fn post_path(post: &str) -> String {
    format!("/api/posts/{post}")
}

/// Returns a post with the largest summary: 199 characters that JSON writes with six bytes each, and
/// one grapheme cluster that takes the rest of the 8 KiB.
fn post_body(number: usize) -> Value {
    let content = format!("{number}{}e{}end", control(196), "\u{301}".repeat(3_990));
    json!({"userId": id("u", 0), "title": control(200), "content": content})
}

pub(super) fn large_post_body() -> Value {
    json!({"userId": id("u", 0), "title": control(200), "content": "x".repeat(512 * 1_024)})
}

pub(super) fn comment(post: usize, user: usize) -> Call {
    let body = json!({"userId": id("u", user), "content": largest(user, 10_000)});
    Call::post(format!("/api/posts/{}/comments", large_post(post)), body)
}

pub(super) fn like_path(post: usize, user: usize) -> String {
    format!("/api/posts/{}/likes/{}", large_post(post), id("u", user))
}

pub(super) fn label_path(kind: &str, number: usize) -> String {
    format!("/api/{kind}/{}", id("l", number))
}

pub(super) fn label(number: usize) -> Value {
    json!({"name": format!("{number:0>4}{}", largest(number, 196))})
}

pub(super) fn product_path(category: usize, number: usize) -> String {
    format!("{}/products/{}", label_path("categories", category), id("p", number))
}

pub(super) fn product_body(number: usize, name: &str) -> Value {
    let tags: Vec<String> = (0..MAX_PARTS).map(|n| id("l", n)).collect();
    json!({
        "sku": control(64),
        "name": format!("{name} {number:0>4}{}", control(180)),
        "description": largest(number, 10_000),
        "price": 999_999.99,
        "tagIds": tags,
    })
}

pub(super) fn customer_path(number: usize) -> String {
    format!("/api/customers/{}", id("c", number))
}

pub(super) fn customer_body(number: usize) -> Value {
    let part = || wide(200);
    let address = json!({
        "addressLine1": part(), "addressLine2": part(), "city": part(), "state": part(),
        "country": part(), "zipCode": part(),
    });
    json!({
        "title": part(), "firstName": part(), "lastName": part(),
        "emailAddress": format!("{number}@{}.example", "x".repeat(230)),
        "phoneNumber": "1".repeat(40),
        "addresses": vec![address; 10],
    })
}

pub(super) fn order(customer: usize) -> Call {
    let line =
        |n: usize| json!({"productId": id("p", n), "categoryId": id("l", n), "quantity": 1_000});
    let lines: Vec<Value> = (0..MAX_PARTS).map(line).collect();
    Call::post(format!("{}/orders", customer_path(customer)), json!({"items": lines}))
}

pub(super) fn post_news(item: Value) -> Call {
    Call::post("/api/news/items", item)
}

pub(super) fn large_news_item(now: Timestamp, number: usize) -> Value {
    let tags: Vec<String> = (0..MAX_PARTS).map(|n| format!("{n:0>4}{}", wide(96))).collect();
    let url = format!("https://p0.example/{number:0>6}");
    let hours = u64::try_from(number).unwrap_or_default() + 1;
    json!({
        "feedProviderId": "p0",
        "title": wide(500),
        "content": "\n".repeat(64 * 1_024),
        "publishedDate": now.before(Duration::from_hours(hours)).to_string(),
        "sourceUrl": format!("{url}{}", "x".repeat(2_048 - url.len())),
        "tags": tags,
        "metadata": {"raw": "x".repeat(16_000)},
    })
}

/// Returns an ordinary item of a provider, some months old.
pub(super) fn news_item(now: Timestamp, provider: usize, months: usize, number: usize) -> Value {
    let age = MONTH * u32::try_from(months).unwrap_or(u32::MAX);
    json!({
        "feedProviderId": format!("p{provider}"),
        "title": "A title of a usual length",
        "content": "Small streams feed the river that people read from. ".repeat(10),
        "publishedDate": now.before(age).to_string(),
        "sourceUrl": format!("https://p{provider}.example/{months}/{number}"),
        "tags": ["river"],
        "metadata": {},
    })
}

pub(super) fn batch(items: &[Value]) -> Call {
    Call::post("/api/news/items/batch", json!({"items": items}))
}

fn old_news(now: Timestamp, provider: usize) -> Call {
    let items: Vec<Value> =
        (0..MONTHS * 2).map(|n| news_item(now, provider, n / 2, n % 2)).collect();
    batch(&items)
}
