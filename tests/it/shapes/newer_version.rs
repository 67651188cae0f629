//! Today's code beside a newer version, which stores properties that today's code does not know.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::story;
use crate::{
    blog::{self, comment, like, post, user},
    news::{HYBRID, Newsroom},
    webstore::{details, label, line, moved, order_of, product, set_password, shop, verify},
    world::World,
};

const CONTAINERS: [&str; 10] = [
    "users",
    "posts",
    "feed",
    "productMeta",
    "product",
    "customer",
    "leaderboard",
    "feeds_current",
    "feeds_historical",
    "feeds_archive",
];

const NEWER: &str = "ofNewerVersion";

/// Edits, renames and moves items of each type.
async fn edit(world: &World) {
    user(world, "ann", "Annie").await.expect(200);
    let text = json!({"userId": "ann", "title": "A title", "content": "Edited again"});
    world.put("/api/posts/p1", text).await.expect(200);
    comment(world, "p1", "ann", "Well?").await.expect(201);
    like(world, "p1", "ann").await.expect(201);
    world.put("/api/customers/cat", details("Cat")).await.expect(200);
    order_of(world, "cat", &[line("bikes", "b1", 1)]).await.expect(201);
    product(world, "bikes", "b2", 11, &["red"]).await.expect(200);
    moved(world, "bikes", "b2", "parts").await.expect(200);
    for path in ["tags/red", "categories/parts"] {
        label(world, path, "Renamed").await.expect(200);
    }
    let room = Newsroom::with(world.clone(), HYBRID).await;
    room.at_one_time();
    for (provider, days_ago, now) in [("reuters", 1.0, 1.0), ("herald", 2.0, 40.0)] {
        let mut item = room.item(provider, &format!("{provider}{days_ago}"), now);
        item["title"] = json!("Corrected");
        room.world.post("/api/news/items", item).await.expect(200);
    }
    room.migrate().await;
    room.archive().await;
    world.settle().await;
}

/// Returns what tells an item from others. Products and news move between logical partitions.
fn key(container: &str, item: &Value) -> String {
    let moves = container == "product" || container.starts_with("feeds_");
    let own = if moves { &item["id"] } else { &item["_rid"] };
    format!("{own} {} {}", item["type"], item.get("ttl").is_some())
}

/// Calls `visit` with an item and each of its inner objects with an `id`, with the place of each.
fn each(place: &str, value: &mut Value, visit: &mut impl FnMut(String, &mut Map<String, Value>)) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| each(place, value, visit)),
        Value::Object(members) => {
            if let Some(id) = members.get("id").map(Value::to_string) {
                visit(format!("{place} {id}"), members);
            }
            for (name, value) in members {
                each(&format!("{place}.{name}"), value, visit);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn no_property_of_a_newer_version_is_lost_beside_it() {
    let world = World::new().await;
    story::begin(&world).await;
    let mut labelled = BTreeSet::new();
    for container in CONTAINERS {
        for mut item in world.items(container).await {
            let key = key(container, &item);
            each("", &mut item, &mut |place, members| {
                members.insert(NEWER.to_owned(), json!({"of": "a newer version"}));
                labelled.insert((key.clone(), place));
            });
            world.write_item(container, &item).await;
        }
    }
    edit(&world).await;
    for container in CONTAINERS {
        for mut item in world.items(container).await {
            let (key, shown) = (key(container, &item), item.to_string());
            each("", &mut item, &mut |place, members| {
                let is_kept = members.contains_key(NEWER);
                assert!(is_kept || !labelled.contains(&(key.clone(), place)), "{shown}");
            });
        }
    }
}

#[tokio::test]
async fn a_post_that_is_created_again_has_no_property_of_the_deleted_one() {
    let world = blog::blog().await;
    let mut item = world.item("posts", "p1").await;
    item["cover"] = json!("sea.png");
    world.write_item("posts", &item).await;
    comment(&world, "p1", "bob", "Well.").await.expect(201);
    let cover = async || world.item("posts", "p1").await["cover"].clone();
    assert_eq!(cover().await, "sea.png");
    world.settle().await;
    // In the feed a post and the tombstone of its copy have one type.
    let mut copy = world.item("feed", "p1").await;
    copy["cover"] = json!("sea.png");
    world.write_item("feed", &copy).await;
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;
    let in_feed = async || world.item("feed", "p1").await;
    assert_eq!((cover().await, in_feed().await.get("cover")), (Value::Null, None));
    post(&world, "p1", "ann").await.expect(201);
    world.settle().await;
    let copy = in_feed().await;
    assert_eq!((cover().await, copy.get("cover"), copy.get("ttl")), (Value::Null, None, None));
}

#[tokio::test]
async fn a_new_password_has_no_property_of_the_old_one() {
    let world = shop().await;
    set_password(&world, "ann", story::PASSWORD).await.expect(204);
    let mut item = world.item("customer", "ann").await;
    item["password"]["rounds"] = json!(3);
    world.write_item("customer", &item).await;
    let password = async || world.item("customer", "ann").await["password"].clone();
    world.put("/api/customers/ann", details("Anna")).await.expect(200);
    assert_eq!(password().await["rounds"], 3);
    set_password(&world, "ann", "staple correct horse").await.expect(204);
    assert_eq!(password().await.get("rounds"), None);
    assert_eq!(verify(&world, "ann", "staple correct horse").await, 204);
}
