//! Stored shapes: samples of each type, readers of the samples of all versions, and properties of a newer version.

mod newer_version;
mod story;

use serde_json::Value;
use tributary_testing::checks::shapes::StoredShapes;

use crate::{
    budgets::document,
    news::{self, HYBRID, Newsroom},
    webstore::{KINDS, verify},
    world::{TestApp, World},
};

/// The properties of an item that a provider sends.
const NEWS_BODY: [&str; 7] =
    ["feedProviderId", "title", "content", "publishedDate", "sourceUrl", "tags", "metadata"];

fn samples() -> StoredShapes {
    StoredShapes::in_folder::<TestApp>("tests/shapes")
}

#[tokio::test]
async fn a_stored_shape_changes_with_its_sample() {
    let world = World::new().await;
    story::tell(&world).await;
    samples().hold(&world).await;
}

#[tokio::test]
async fn each_released_version_has_samples() {
    let changes = document("CHANGELOG.md");
    let sections = changes.lines().filter_map(|line| line.strip_prefix("## "));
    let released = samples().released();
    for section in sections.filter(|section| *section != "Unreleased") {
        let version = section.trim_start_matches('[').split([']', ' ']).next().unwrap();
        assert!(
            released.iter().any(|kept| kept == version),
            "Version {version} has no samples. Run: cp -r tests/shapes/next tests/shapes/{version}"
        );
    }
}

#[tokio::test]
async fn todays_code_reads_the_samples_of_all_versions() {
    samples().are_read(async |world: &World| read(world).await).await;
}

/// The requests that read an item, with its container and type: its fields are in braces.
const READS: [(&str, &str, &str); 10] = [
    ("users", "user", "/api/users/{id}"),
    ("users", "user", "/api/users/{id}/posts"),
    ("posts", "comment", "/api/posts/{postId}/comments/{id}"),
    ("posts", "like", "/api/posts/{postId}/likes/{userId}"),
    ("customer", "customer", "/api/customers/{id}?include=orders"),
    ("customer", "salesOrder", "/api/customers/{customerId}/orders/{id}"),
    ("productMeta", "category", "/api/categories/{id}"),
    ("productMeta", "tag", "/api/tags/{id}"),
    ("product", "product", "/api/categories/{categoryId}/products/{id}"),
    ("product", "product", "/api/categories/{categoryId}/products"),
];

/// Parents with a list of children, and the number that they say.
const COUNTED: [(&str, &str, &str, &str, &str); 3] = [
    ("posts", "post", "/api/posts/{id}", "comments", "commentCount"),
    ("posts", "post", "/api/posts/{id}", "likes", "likeCount"),
    ("customer", "customer", "/api/customers/{id}", "orders", "salesOrderCount"),
];

/// Sends the requests that read each stored item, and the lists with it.
async fn read(world: &World) {
    for (container, kind, path) in READS {
        for item in live(world, container, kind).await {
            ok(world, &filled(path, &item)).await;
        }
    }
    for (container, kind, path, list, count) in COUNTED {
        for item in live(world, container, kind).await {
            let path = filled(path, &item);
            let items = world.list(&format!("{path}/{list}")).await;
            assert_eq!(ok(world, &path).await[count], items.len(), "{path}/{list}");
        }
    }
    let feed = ok(world, "/api/feed").await;
    let copies = live(world, "feed", "post").await.into_iter();
    let copies = copies.filter(|item| item.get("title").is_some()).count();
    assert_eq!(feed["items"].as_array().unwrap().len(), copies);
    let customers = live(world, "customer", "customer").await;
    for customer in customers.iter().filter(|customer| customer.get("password").is_some()) {
        let id = customer["id"].as_str().unwrap();
        assert_eq!(verify(world, id, story::PASSWORD).await, 204);
    }
    for source in ["query", "leaderboard"] {
        let ranking = ok(world, &format!("/api/reports/top-customers?source={source}")).await;
        assert_eq!(ranking["items"].as_array().unwrap().len(), customers.len());
    }
    for (list, kind) in KINDS {
        let labels = live(world, "productMeta", kind).await;
        assert_eq!(world.list(&format!("/api/{list}")).await.len(), labels.len());
    }
    news(world).await;
}

async fn ok(world: &World, path: &str) -> Value {
    world.get(path).await.expect(200).json()
}

async fn live(world: &World, container: &str, kind: &str) -> Vec<Value> {
    let mut items = world.items(container).await;
    items.retain(|item| {
        item["type"] == kind && item.get("state").is_none_or(|state| state == "live")
    });
    items
}

fn filled(path: &str, item: &Value) -> String {
    let fields = item.as_object().unwrap().iter();
    fields.fold(path.to_owned(), |path, (name, value)| {
        path.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
    })
}

async fn news(world: &World) {
    let room = Newsroom::with(world.clone(), HYBRID).await;
    room.at_one_time();
    let mut live = 0;
    let mut posted = Vec::new();
    for container in ["feeds_current", "feeds_historical", "feeds_archive"] {
        for item in world.items(container).await.iter().filter(|item| item["state"] == "live") {
            // Lists end where the archive begins.
            live += usize::from(container != "feeds_archive");
            room.world.get(&news::path(item)).await.expect(200);
            posted.push(item.clone());
        }
    }
    let listed = room.items("days=3650", 100).await.len();
    assert!(listed >= live, "{listed} of {live}");
    for run in [room.migrate().await, room.archive().await] {
        assert_eq!(run["failed"], 0, "{run}");
    }
    // A command reads the location of the item.
    for mut item in posted {
        item.as_object_mut().unwrap().retain(|name, _| NEWS_BODY.contains(&name.as_str()));
        room.world.post("/api/news/items", item).await.expect(200);
    }
}
