//! The generator: for each function, the requests that may be expensive.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderName, Method};
use serde_json::{Value, json};
use tributary_functions::http::CONSISTENCY_TOKEN;
use tributary_local::client::Call;

use super::data::{
    Data, MORE_THAN_A_PAGE, PROVIDERS, batch, comment, customer_body, customer_path, id, label,
    label_path, large_news_item, large_post, large_post_body, like_path, news_item, order,
    post_news, post_path, product_body, product_path, user_body, user_path, wide,
};

pub(super) type CostlyRequest = (String, Call);

type OfFunction = (&'static str, Vec<CostlyRequest>);

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

/// Returns the requests of all functions: queries first and parents last, since deletes remove the items
/// of other requests.
pub(super) fn all(data: &Data) -> Vec<OfFunction> {
    let mut all = [queries(data), puts(), posts(data), deletes(data)].concat();
    for (_, requests) in &mut all {
        let late = requests.iter().find_map(late_invalid);
        requests.extend(late);
    }
    all
}

fn late_invalid((_, call): &CostlyRequest) -> Option<CostlyRequest> {
    let mut body = call.body.as_ref()?.strip_suffix(b"}")?.to_vec();
    body.extend(br#","ignored":""#);
    body.resize(body.len().max(1024 * 1024), b'x');
    Some(("a body without an end".into(), Call { body: Some(body.into()), ..call.clone() }))
}

/// Returns the feed with the token of a write that no trigger applies, and of one that never was.
fn feed_with_tokens(data: &Data) -> Vec<CostlyRequest> {
    let text = BASE64_URL_SAFE_NO_PAD.decode(&data.token).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).replace('#', "#9").replace('=', "=9");
    let forged = BASE64_URL_SAFE_NO_PAD.encode(text);
    let with = |what: &str, token: &str| {
        let call = Call::get("/api/feed").header(CONSISTENCY_TOKEN, token);
        (what.to_owned(), call.header(HeaderName::from_static("prefer"), "wait=10"))
    };
    vec![with("a token and `wait=10`", &data.token), with("a forged token", &forged)]
}

/// The values of a list's `limit`; without text it is left out.
const LIMITS: &[&str] = &["", "1", "100"];

fn queries(data: &Data) -> Vec<OfFunction> {
    let large = post_path(&large_post(0));
    let customer = customer_path(0);
    let get = |function, what, path| one(function, what, Call::get(path));
    let list = |function, path: String| (function, combined(&path, &[("limit", LIMITS)]));
    let far_item = format!("/api/news/items/p1_2020-01/{}", "0".repeat(32));
    vec![
        get("GetUser", "the longest name", user_path(0)),
        list("ListUserPosts", format!("{}/posts", user_path(0))),
        get("GetPost", "a post of 512 KiB", large.clone()),
        ("GetFeed", [combined("/api/feed", &[("limit", LIMITS)]), feed_with_tokens(data)].concat()),
        list("ListComments", format!("{large}/comments")),
        list("ListLikes", format!("{large}/likes")),
        get(
            "GetComment",
            "a comment of 10,000 characters, of a post of 512 KiB",
            format!("{large}/comments/{}", data.comments[0]),
        ),
        get("GetLike", "a like of a post of 512 KiB", like_path(0, 1)),
        get("GetCategory", "the longest name", label_path("categories", 1)),
        get("GetTag", "the longest name", label_path("tags", 1)),
        list("ListCategories", "/api/categories".into()),
        list("ListTags", "/api/tags".into()),
        get("GetProduct", "the longest texts and 50 tags", product_path(0, 1)),
        list("ListProducts", format!("{}/products", label_path("categories", 0))),
        ("GetCustomer", combined(&customer, &[("include", &["", "orders"])])),
        list("ListOrders", format!("{customer}/orders")),
        get("GetOrder", "50 products", format!("{customer}/orders/{}", data.orders[0])),
        (
            "GetTopCustomers",
            combined(
                "/api/reports/top-customers",
                &[("limit", LIMITS), ("source", &["", "query", "leaderboard"])],
            ),
        ),
        ("ListNewsItems", news_lists(data, "/api/news/items", &[""])),
        ("SearchNews", news_lists(data, "/api/news/search", &["river", "no%20item%20has%20this"])),
        of(
            "GetNewsItem",
            [
                ("an item at all limits", Call::get(format!("/api/news/items/{}", data.news[0]))),
                ("an unknown item", Call::get(far_item)),
            ],
        ),
        (
            "ListDeadLetters",
            combined(
                "/api/dead-letters",
                &[("limit", LIMITS), ("function", &["", "HomeFeed", "PostsIntegrity"])],
            ),
        ),
        get("GetDeadLetter", "an item of 500 KB", dead_letter(data, 0)),
        get("ListProjections", "all projections", "/api/projections".into()),
        get("GetProjection", "a projection on four partitions", "/api/projections/HomeFeed".into()),
        get("ListCosts", "all records", "/api/costs".into()),
        get("GetOpenApi", "the whole document", "/api/openapi.json".into()),
    ]
}

const NEW: usize = MORE_THAN_A_PAGE + 1;

fn puts() -> Vec<OfFunction> {
    let mut edited = large_post_body();
    edited["title"] = "Edited".into();
    let like = Call::new(Method::PUT, like_path(1, 1));
    let renames = (10..18)
        .map(|n| ("a repeated rename".to_owned(), Call::put(user_path(0), user_body(NEW + n))));
    let mut users =
        vec![("a new user".to_owned(), Call::put(user_path(NEW + 1), user_body(NEW + 1)))];
    users.extend(renames);
    let labels = |function, kind| {
        let [new, renamed] =
            [(NEW, NEW), (0, NEW + 1)].map(|(n, name)| Call::put(label_path(kind, n), label(name)));
        of(function, [("a new name", new), ("a rename", renamed)])
    };
    let product = |n, name| {
        ("the longest texts and 50 tags", Call::put(product_path(0, n), product_body(n, name)))
    };
    let customer = |n, name| {
        ("10 addresses of the longest texts", Call::put(customer_path(n), customer_body(name)))
    };
    let password = Call::put(format!("{}/password", customer_path(0)), password());
    vec![
        ("PutUser", users),
        of(
            "PutPost",
            [
                ("a new post of 512 KiB", Call::put(post_path(&large_post(90)), large_post_body())),
                ("an edit of 512 KiB", Call::put(post_path(&large_post(1)), edited)),
            ],
        ),
        of(
            "LikePost",
            [("a like of a post of 512 KiB", like.clone()), ("the same like again", like)],
        ),
        labels("PutCategory", "categories"),
        labels("PutTag", "tags"),
        of("PutProduct", [product(NEW, "New"), product(0, "Edited")]),
        of("PutCustomer", [customer(NEW, NEW), customer(0, NEW + 1)]),
        one("PutPassword", "128 characters", password),
    ]
}

fn password() -> Value {
    json!({"password": wide(128)})
}

fn posts(data: &Data) -> Vec<OfFunction> {
    let comment = comment(0, 1);
    let on_large = "a comment of 10,000 characters on a post of 512 KiB";
    let to_category = json!({"categoryId": id("l", 1)});
    let run = |path| Call::new(Method::POST, path);
    let operated = |function, what, action| {
        one(function, what, Call::post(format!("/api/projections/HomeFeed/{action}"), json!({})))
    };
    // A run with work, by `settings`, and one after it.
    let runs = |path| [("everything due, at no pace", run(path)), ("again", run(path))];
    let mut moved = large_news_item(data.now, 3);
    moved["publishedDate"] = news_item(data.now, 0, 20, 0)["publishedDate"].clone();
    vec![
        one("CreateUser", "the longest name", Call::post("/api/users", user_body(NEW))),
        one("CreatePost", "a post of 512 KiB", Call::post("/api/posts", large_post_body())),
        of("CreateComment", [(on_large, comment.clone()), (on_large, comment.key("key"))]),
        one(
            "MoveProduct",
            "the longest texts and 50 tags",
            Call::post(format!("{}/move", product_path(0, 100)), to_category),
        ),
        one(
            "VerifyPassword",
            "the right password",
            Call::post(format!("{}/password/verify", customer_path(0)), password()),
        ),
        of(
            "CreateOrder",
            [
                ("50 products of 50 categories", order(0)),
                ("the same order again", order(0).key("order 0")),
            ],
        ),
        of("PostNewsItems", batches(data)),
        of("MigrateNews", runs("/api/news/migrate")),
        of("ArchiveNews", runs("/api/news/archive")),
        of(
            "PostNewsItem",
            [
                ("a new item at all limits", post_news(large_news_item(data.now, 100_000))),
                ("another date for an item at all limits", post_news(moved)),
            ],
        ),
        one(
            "ReplayDeadLetter",
            "an item of 500 KB",
            Call::new(Method::POST, dead_letter(data, 1) + "/replay"),
        ),
        operated("PauseProjection", "a running projection", "pause"),
        operated("ResumeProjection", "a paused projection", "resume"),
        operated("RebuildProjection", "a running projection", "rebuild"),
        operated("CancelRebuild", "a rebuild", "cancel-rebuild"),
        operated("ReleaseLease", "by force", "leases/0/release?force=true"),
    ]
}

fn deletes(data: &Data) -> Vec<OfFunction> {
    let delete = |function, what, path| one(function, what, Call::delete(path));
    let large = |n| post_path(&large_post(n));
    let labels = |function, kind| {
        let unused = MORE_THAN_A_PAGE - 1;
        let [used, unused] = [0, unused].map(|n| Call::delete(label_path(kind, n)));
        of(function, [("in use by 120 products", used), ("not in use", unused)])
    };
    vec![
        delete("UnlikePost", "a like of a post of 512 KiB", like_path(0, 2)),
        delete(
            "DeleteComment",
            "a comment on a post of 512 KiB",
            format!("{}/comments/{}", large(0), data.comments[0]),
        ),
        delete("DeleteProduct", "the longest texts and 50 tags", product_path(0, 101)),
        delete(
            "DeleteOrder",
            "50 products",
            format!("{}/orders/{}", customer_path(0), data.orders[0]),
        ),
        delete("DeleteDeadLetter", "an item of 500 KB", dead_letter(data, 2)),
        labels("DeleteCategory", "categories"),
        labels("DeleteTag", "tags"),
        of(
            "DeletePost",
            [
                ("a post of 512 KiB", Call::delete(large(2))),
                ("a post with 120 comments and likes", Call::delete(large(0))),
            ],
        ),
    ]
}

fn one(function: &'static str, what: &str, call: Call) -> OfFunction {
    of(function, [(what, call)])
}

fn of<const N: usize>(function: &'static str, requests: [(&str, Call); N]) -> OfFunction {
    (function, requests.map(|(what, call)| (what.to_owned(), call)).into())
}

fn dead_letter(data: &Data, number: usize) -> String {
    format!("/api/dead-letters/{}", data.dead_letters[number])
}

/// Returns the request for the page after this cursor; `None` for a second page.
pub(super) fn next_page((what, call): &CostlyRequest, cursor: &str) -> Option<CostlyRequest> {
    let path = &call.path;
    let separator = if path.contains('?') { '&' } else { '?' };
    let next = Call::get(format!("{path}{separator}cursor={cursor}"));
    (!path.contains("cursor=")).then(|| (format!("{what} on its second page"), next))
}

/// Returns lists of news with all combinations of window, provider, limit and words.
fn news_lists(data: &Data, path: &str, words: &[&str]) -> Vec<CostlyRequest> {
    let since = news_item(data.now, 0, 3, 0);
    let since = format!("from={}", since["publishedDate"].as_str().unwrap_or_default());
    let windows = [
        "",
        "days=92",
        "days=36500",
        "from=2019-01-01",
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

/// Returns batches of 500: of as many partitions as possible, of as many bytes as possible, and
/// repeated with other dates, so that every item moves.
fn batches(data: &Data) -> [(&'static str, Call); 3] {
    let now = data.now;
    let spread = |months: usize| -> Vec<Value> {
        let item = |n| {
            let mut item = news_item(now, n % PROVIDERS, (n + months) % 60, 1_000);
            item["sourceUrl"] = format!("https://spread.example/{n}").into();
            item
        };
        (0..500).map(item).collect()
    };
    let large: Vec<Value> = (0..10).map(|n| large_news_item(now, 200_000 + n)).collect();
    [
        ("500 items of as many partitions as possible", batch(&spread(0))),
        ("500 items, each with another date", batch(&spread(17))),
        ("items at all limits", batch(&large)),
    ]
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
        (format!("`{what}`"), Call::get(path))
    };
    paths.into_iter().map(query).collect()
}
