//! The generator: for each function, the requests that may be expensive.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use tributary_functions::http::HttpFunction;
use tributary_local::client::Call;

use super::data::{
    Data, MORE_THAN_A_PAGE, PROVIDERS, batch, comment, customer_body, customer_path, id, label,
    label_path, large_news_item, large_post, large_post_body, like_path, news_item, order,
    post_news, post_path, product_body, product_path, user_body, user_path, wide,
};

/// A request, and its special property.
#[derive(Clone)]
pub(super) struct CostlyRequest {
    pub(super) what: String,
    pub(super) call: Call,
}

pub(super) fn functions() -> anyhow::Result<Vec<HttpFunction>> {
    Ok(tributary::program().describe()?.http_functions().cloned().collect())
}

/// Returns settings with which a function has more work than with the defaults: runs move younger
/// items, and have no pace.
pub(super) fn settings(function: &str) -> &'static [(&'static str, &'static str)] {
    const NO_PACE: (&str, &str) = ("Background__RequestUnitsPerSecond", "0");
    match function {
        "MigrateNews" => &[("News__MigrateAfterDays", "1"), NO_PACE],
        "ArchiveNews" => &[("News__ArchiveAfterYears", "1"), NO_PACE],
        _ => &[],
    }
}

/// The values of a list's `limit`; without text it is left out.
const LIMITS: &[&str] = &["", "1", "100"];

/// Returns the requests of a function, or `None` for a function that is unknown here.
pub(super) fn candidates(data: &Data, function: &str) -> Option<Vec<CostlyRequest>> {
    let large = post_path(&large_post(0));
    let customer = customer_path(0);
    let list = |path: &str| combined(path, &[("limit", LIMITS)]);
    let ask = |what, path: String| vec![candidate(what, Call::get(path))];
    Some(match function {
        "GetUser" => ask("the longest name", user_path(0)),
        "ListUserPosts" => list(&format!("{}/posts", user_path(0))),
        "GetPost" => ask("a post of 512 KiB", large),
        "GetFeed" => list("/api/feed"),
        "ListComments" => list(&format!("{large}/comments")),
        "ListLikes" => list(&format!("{large}/likes")),
        "GetComment" => ask(
            "a comment of 10,000 characters, of a post of 512 KiB",
            format!("{large}/comments/{}", data.comments.last()?),
        ),
        "GetLike" => ask("a like of a post of 512 KiB", like_path(0, 1)),
        "GetCategory" => ask("the longest name", label_path("categories", 1)),
        "GetTag" => ask("the longest name", label_path("tags", 1)),
        "ListCategories" => list("/api/categories"),
        "ListTags" => list("/api/tags"),
        "GetProduct" => ask("the longest texts and 50 tags", product_path(0, 1)),
        "ListProducts" => list(&format!("{}/products", label_path("categories", 0))),
        "GetCustomer" => combined(&customer, &[("include", &["", "orders"])]),
        "ListOrders" => list(&format!("{customer}/orders")),
        "GetOrder" => ask("50 products", format!("{customer}/orders/{}", data.orders.last()?)),
        "GetTopCustomers" => combined(
            "/api/reports/top-customers",
            &[("limit", LIMITS), ("source", &["", "query", "leaderboard"])],
        ),
        "ListNewsItems" => news_lists(data, "/api/news/items", &[""]),
        "SearchNews" => news_lists(data, "/api/news/search", &["river", "no%20item%20has%20this"]),
        "GetNewsItem" => {
            let known = format!("/api/news/items/{}", data.news.last()?);
            let far = format!("/api/news/items/p1_2020-01/{}", "0".repeat(32));
            [ask("an item at all limits", known), ask("an unknown item", far)].concat()
        }
        "ListDeadLetters" => combined(
            "/api/dead-letters",
            &[("limit", LIMITS), ("function", &["", "HomeFeed", "PostsIntegrity"])],
        ),
        "GetDeadLetter" => ask("an item of 500 KB", dead_letter(data, 0)?),
        "ListCosts" => ask("all records", "/api/costs".into()),
        "GetOpenApi" => ask("the whole document", "/api/openapi.json".into()),
        _ => commands(data, function)?,
    })
}

/// The number of an item that is not there.
const NEW: usize = MORE_THAN_A_PAGE + 1;

fn commands(data: &Data, function: &str) -> Option<Vec<CostlyRequest>> {
    Some(match function {
        "CreateUser" => vec![post("the longest name", "/api/users", user_body(NEW))],
        "PutUser" => {
            let new = put("a new user", user_path(NEW + 1), user_body(NEW + 1));
            let renamed = |n| put("a repeated rename", user_path(0), user_body(NEW + n));
            [vec![new], (10..18).map(renamed).collect()].concat()
        }
        "CreatePost" => vec![post("a post of 512 KiB", "/api/posts", large_post_body())],
        "PutPost" => {
            let mut edited = large_post_body();
            edited["title"] = "Edited".into();
            vec![
                put("a new post of 512 KiB", post_path(&large_post(90)), large_post_body()),
                put("an edit of 512 KiB", post_path(&large_post(1)), edited),
            ]
        }
        "CreateComment" => {
            let on_large = comment(0, 1);
            let what = "a comment of 10,000 characters on a post of 512 KiB";
            vec![candidate(what, on_large.clone()), candidate(what, on_large.key("key"))]
        }
        "LikePost" => {
            let like = |what| candidate(what, Call::new(Method::PUT, like_path(1, 1)));
            vec![like("a like of a post of 512 KiB"), like("the same like again")]
        }
        "UnlikePost" => vec![delete("a like of a post of 512 KiB", like_path(0, 2))],
        "DeleteComment" => {
            let path = format!("{}/comments/{}", post_path(&large_post(0)), data.comments.first()?);
            vec![delete("a comment on a post of 512 KiB", path)]
        }
        "DeletePost" => vec![
            delete("a post of 512 KiB", post_path(&large_post(2))),
            delete("a post with 120 comments and likes", post_path(&large_post(0))),
        ],
        "PutCategory" | "PutTag" => vec![
            put("a new name", label_path(labels(function), NEW), label(NEW)),
            put("a rename", label_path(labels(function), 0), label(NEW + 1)),
        ],
        "DeleteCategory" | "DeleteTag" => vec![
            delete("in use by 120 products", label_path(labels(function), 0)),
            delete("not in use", label_path(labels(function), MORE_THAN_A_PAGE - 1)),
        ],
        "PutProduct" => {
            let all = "the longest texts and 50 tags";
            vec![
                put(all, product_path(0, NEW), product_body(NEW, "New")),
                put(all, product_path(0, 0), product_body(0, "Edited")),
            ]
        }
        "MoveProduct" => {
            let path = format!("{}/move", product_path(0, 100));
            vec![post("the longest texts and 50 tags", &path, json!({"categoryId": id("l", 1)}))]
        }
        "DeleteProduct" => vec![delete("the longest texts and 50 tags", product_path(0, 101))],
        _ => other_commands(data, function)?,
    })
}

fn labels(function: &str) -> &'static str {
    if function.ends_with("Tag") { "tags" } else { "categories" }
}

fn other_commands(data: &Data, function: &str) -> Option<Vec<CostlyRequest>> {
    let password = json!({"password": wide(128)});
    Some(match function {
        "PutCustomer" => {
            let all = "10 addresses of the longest texts";
            vec![
                put(all, customer_path(NEW), customer_body(NEW)),
                put(all, customer_path(0), customer_body(NEW + 1)),
            ]
        }
        "PutPassword" => {
            vec![put("128 characters", format!("{}/password", customer_path(0)), password)]
        }
        "VerifyPassword" => {
            let path = format!("{}/password/verify", customer_path(0));
            vec![post("the right password", &path, password)]
        }
        "CreateOrder" => vec![
            candidate("50 products of 50 categories", order(0)),
            candidate("the same order again", order(0).key("order 0")),
        ],
        "DeleteOrder" => {
            let path = format!("{}/orders/{}", customer_path(0), data.orders.first()?);
            vec![delete("50 products", path)]
        }
        "PostNewsItem" => {
            let new = post_news(large_news_item(data.now, 100_000));
            let mut moved = large_news_item(data.now, 3);
            moved["publishedDate"] = news_item(data.now, 0, 20, 0)["publishedDate"].clone();
            vec![
                candidate("a new item at all limits", new),
                candidate("another date for an item at all limits", post_news(moved)),
            ]
        }
        "PostNewsItems" => batches(data),
        "MigrateNews" => runs("/api/news/migrate"),
        "ArchiveNews" => runs("/api/news/archive"),
        "ReplayDeadLetter" => {
            let path = format!("{}/replay", dead_letter(data, 1)?);
            vec![candidate("an item of 500 KB", Call::new(Method::POST, path))]
        }
        "DeleteDeadLetter" => vec![delete("an item of 500 KB", dead_letter(data, 2)?)],
        _ => return None,
    })
}

/// Returns requests with the next cursor of a list, and with cursors in which one number or text of the
/// key is replaced.
pub(super) fn with_cursors(candidate: &CostlyRequest, cursor: &str) -> Vec<CostlyRequest> {
    let separator = if candidate.call.path.contains('?') { '&' } else { '?' };
    if candidate.call.path.contains("cursor=") {
        return Vec::new();
    }
    let with = |what: &str, cursor: &str| CostlyRequest {
        what: format!("{} {what}", candidate.what),
        call: Call::get(format!("{}{separator}cursor={cursor}", candidate.call.path)),
    };
    let forged = forged(cursor);
    let forged = forged.iter().map(|cursor| with("with a forged cursor", cursor));
    std::iter::once(with("on its second page", cursor)).chain(forged).collect()
}

/// Returns cursors with an extreme value in the place of each value of this one.
fn forged(cursor: &str) -> Vec<String> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    let Ok(decoded) = serde_json::from_slice::<Value>(&decoded) else {
        return Vec::new();
    };
    let extremes = [
        json!("0000-01-01T00:00:00.000Z"),
        json!("9999-12-31T23:59:59.999Z"),
        json!(""),
        json!("~"),
        json!(0),
        json!(u32::MAX),
        Value::Null,
    ];
    let mut forged = Vec::new();
    for pointer in leaves(&decoded, "") {
        for extreme in &extremes {
            let mut changed = decoded.clone();
            if let Some(leaf) = changed.pointer_mut(&pointer) {
                *leaf = extreme.clone();
            }
            forged.push(BASE64_URL_SAFE_NO_PAD.encode(changed.to_string()));
        }
    }
    forged
}

fn leaves(value: &Value, pointer: &str) -> Vec<String> {
    match value {
        Value::Array(parts) => {
            let part = |(n, part)| leaves(part, &format!("{pointer}/{n}"));
            parts.iter().enumerate().flat_map(part).collect()
        }
        Value::Object(parts) => parts
            .iter()
            .flat_map(|(name, part)| leaves(part, &format!("{pointer}/{name}")))
            .collect(),
        _ => vec![pointer.to_owned()],
    }
}

/// Returns lists of news with all combinations of window, provider, limit and words.
fn news_lists(data: &Data, path: &str, words: &[&str]) -> Vec<CostlyRequest> {
    let since = news_item(data.now, 0, 3, 0);
    let since = format!("from={}", since["publishedDate"].as_str().unwrap_or_default());
    let windows = [
        "",
        "days=1",
        "days=92",
        "days=36500",
        "from=2019-01-01",
        "from=0001-01-01",
        "from=0001-01-01&to=9999-12-31",
        "from=2025-11-01&to=2026-02-01",
        "to=2021-01-01",
        &since,
    ];
    let parameters: &[(&str, &[&str])] =
        &[("q", words), ("provider", &["", "p0"]), ("limit", &["1", "100"])];
    let of_window = |window: &str| {
        let path = if window.is_empty() { path.to_owned() } else { format!("{path}?{window}") };
        combined(&path, parameters)
    };
    windows.into_iter().flat_map(of_window).collect()
}

/// Returns batches of 500: of one partition, of as many as possible, of as many bytes as possible, and
/// repeated with other dates, so that every item moves.
fn batches(data: &Data) -> Vec<CostlyRequest> {
    let now = data.now;
    let spread = |months: usize| -> Vec<Value> {
        let item = |n| {
            let mut item = news_item(now, n % PROVIDERS, (n + months) % 60, 1_000);
            item["sourceUrl"] = format!("https://spread.example/{n}").into();
            item
        };
        (0..500).map(item).collect()
    };
    let one_partition: Vec<Value> = (0..500).map(|n| news_item(now, 0, 1, n)).collect();
    let large: Vec<Value> = (0..10).map(|n| large_news_item(now, 200_000 + n)).collect();
    let moved = "500 items, each with another date";
    vec![
        candidate("500 items of one partition", batch(&one_partition)),
        candidate("500 items of as many partitions as possible", batch(&spread(0))),
        candidate(moved, batch(&spread(17))),
        candidate("items at all limits", batch(&large)),
    ]
}

fn dead_letter(data: &Data, number: usize) -> Option<String> {
    Some(format!("/api/dead-letters/{}", data.dead_letters.get(number)?))
}

/// Returns a run with work, by [`settings`], and one after it.
fn runs(path: &str) -> Vec<CostlyRequest> {
    let run = |what| candidate(what, Call::new(Method::POST, path));
    vec![run("everything due, at no pace"), run("again")]
}

fn put(what: &str, path: String, body: Value) -> CostlyRequest {
    candidate(what, Call::new(Method::PUT, path).json(body))
}

fn post(what: &str, path: &str, body: Value) -> CostlyRequest {
    candidate(what, Call::new(Method::POST, path).json(body))
}

fn delete(what: &str, path: String) -> CostlyRequest {
    candidate(what, Call::new(Method::DELETE, path))
}

fn candidate(what: &str, call: Call) -> CostlyRequest {
    CostlyRequest { what: what.to_owned(), call }
}

/// Returns queries with every combination of values, described by their parameters. An empty value omits its
/// parameter.
fn combined(path: &str, parameters: &[(&str, &[&str])]) -> Vec<CostlyRequest> {
    let mut paths = vec![path.to_owned()];
    for (name, values) in parameters {
        let with = |path: &String| {
            let separator = if path.contains('?') { '&' } else { '?' };
            let one = |value: &&str| match *value {
                "" => path.clone(),
                value => format!("{path}{separator}{name}={value}"),
            };
            values.iter().map(one).collect::<Vec<_>>()
        };
        paths = paths.iter().flat_map(with).collect();
    }
    let query = |path: String| {
        let what = path.split_once('?').map_or("without parameters", |(_, query)| query);
        CostlyRequest { what: format!("`{what}`"), call: Call::get(path) }
    };
    paths.into_iter().map(query).collect()
}
