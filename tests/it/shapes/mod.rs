//! Stored shapes: samples of each type, readers of the samples of all versions, and properties of a newer version.

mod newer_version;
mod story;

use serde_json::Value;
use tributary_testing::checks::shapes::StoredShapes;

use crate::{
    budgets::document,
    news::{self, HYBRID, Newsroom},
    webstore::{self as given, verify},
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
    story::tell(&world, World::clone).await;
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

/// Sends the requests that read each stored item, and the lists with it.
async fn read(world: &World) {
    blog(world).await;
    webstore(world).await;
    news(world).await;
}

async fn ok(world: &World, path: &str) -> Value {
    world.get(path).await.expect(200).json()
}

async fn of_type(world: &World, container: &str, name: &str) -> Vec<Value> {
    let items = world.items(container).await;
    items.into_iter().filter(|item| item["type"] == name).collect()
}

fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap()
}

async fn blog(world: &World) {
    for user in of_type(world, "users", "user").await {
        let path = format!("/api/users/{}", text(&user, "id"));
        ok(world, &path).await;
        ok(world, &format!("{path}/posts")).await;
    }
    for post in of_type(world, "posts", "post").await {
        let path = format!("/api/posts/{}", text(&post, "id"));
        let shown = ok(world, &path).await;
        let lists = [("comments", "commentCount"), ("likes", "likeCount")];
        for (list, count) in lists {
            let items = world.list(&format!("{path}/{list}")).await;
            assert_eq!(items.len() as u64, shown[count].as_u64().unwrap(), "{path}/{list}");
        }
    }
    for comment in of_type(world, "posts", "comment").await {
        let [post, id] = ["postId", "id"].map(|name| text(&comment, name));
        ok(world, &format!("/api/posts/{post}/comments/{id}")).await;
    }
    for like in of_type(world, "posts", "like").await {
        let [post, user] = ["postId", "userId"].map(|name| text(&like, name));
        ok(world, &format!("/api/posts/{post}/likes/{user}")).await;
    }
    let feed = ok(world, "/api/feed").await;
    let stored = of_type(world, "feed", "post").await;
    let copies = stored.iter().filter(|item| item.get("title").is_some()).count();
    assert_eq!(feed["items"].as_array().unwrap().len(), copies);
}

async fn webstore(world: &World) {
    for customer in of_type(world, "customer", "customer").await {
        let path = format!("/api/customers/{}", text(&customer, "id"));
        ok(world, &format!("{path}?include=orders")).await;
        let shown = ok(world, &path).await;
        let orders = world.list(&format!("{path}/orders")).await;
        assert_eq!(orders.len() as u64, shown["salesOrderCount"].as_u64().unwrap(), "{path}");
        if customer.get("password").is_some() {
            assert_eq!(verify(world, text(&customer, "id"), story::PASSWORD).await, 204);
        }
    }
    for order in of_type(world, "customer", "salesOrder").await {
        let [customer, id] = ["customerId", "id"].map(|name| text(&order, name));
        ok(world, &format!("/api/customers/{customer}/orders/{id}")).await;
    }
    for source in ["query", "leaderboard"] {
        let ranking = ok(world, &format!("/api/reports/top-customers?source={source}")).await;
        assert_eq!(
            ranking["items"].as_array().unwrap().len(),
            of_type(world, "customer", "customer").await.len()
        );
    }
    for (list, kind) in given::KINDS {
        let labels = of_type(world, "productMeta", kind).await;
        let live: Vec<_> = labels.iter().filter(|label| label["state"] == "live").collect();
        assert_eq!(world.list(&format!("/api/{list}")).await.len(), live.len());
        for label in live {
            ok(world, &format!("/api/{list}/{}", text(label, "id"))).await;
        }
    }
    for product in of_type(world, "product", "product").await {
        let [category, id] = ["categoryId", "id"].map(|name| text(&product, name));
        ok(world, &given::path(category, id)).await;
        assert!(!world.list(&format!("/api/categories/{category}/products")).await.is_empty());
    }
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
    } // A command reads the location of the item.
    for mut item in posted {
        item.as_object_mut().unwrap().retain(|name, _| NEWS_BODY.contains(&name.as_str()));
        room.world.post("/api/news/items", item).await.expect(200);
    }
}
