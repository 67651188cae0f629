//! A story after which the account has an item of each type, in each form.

use std::time::Duration;

use serde_json::json;
use tributary_functions::{app::AppOptions, projection::BackgroundOptions};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Query, Replace},
};
use tributary_testing::interleavings::held;

use crate::{
    audit,
    blog::{comment, comment_once, like, post, user},
    news::{HYBRID, Newsroom},
    webstore::{self as given},
    world::World,
};

pub(super) const PASSWORD: &str = "correct horse battery";

pub(super) async fn tell(world: &World) {
    begin(world).await;
    leave_unfinished(world).await;
}

/// The story without what a crash or an operator leaves.
pub(super) async fn begin(world: &World) {
    write_blog(world).await;
    run_shop(world).await;
    publish_news(world).await;
    world.settle().await;
}

async fn write_blog(world: &World) {
    user(world, "ann", "Ann").await.expect(201);
    user(world, "bob", "Bob").await.expect(201);
    post(world, "p1", "ann").await.expect(201);
    post(world, "p2", "bob").await.expect(201);
    comment(world, "p1", "bob", "Well.").await.expect(201);
    let thrown_away = comment_once(world, "key", "p1", "ann", "Well!").await.expect(201);
    let path = format!("/api/posts/p1/comments/{}", thrown_away.json()["id"].as_str().unwrap());
    world.delete(&path).await.expect(204);
    like(world, "p1", "bob").await.expect(201);
    like(world, "p2", "ann").await.expect(201);
    world.delete("/api/posts/p2/likes/ann").await.expect(204);
    let text = json!({"userId": "ann", "title": "A title", "content": "Edited"});
    world.put("/api/posts/p1", text).await.expect(200);
    // A post of two authors, one after the other, and its tombstone.
    for author in ["ann", "bob"] {
        post(world, "p3", author).await.expect(201);
        post(world, "p4", author).await.expect(201);
        world.settle().await;
        world.delete("/api/posts/p3").await.expect(204);
        if author == "ann" {
            world.delete("/api/posts/p4").await.expect(204);
        }
        world.settle().await;
    }
    user(world, "ann", "Anna").await.expect(200);
    // The name of a user that was never created.
    audit::reserve(world, "zoe", "nobody", audit::LONG_AGO).await;
    user(world, "zoe", "Zoe").await.expect(201);
}

async fn run_shop(world: &World) {
    given::catalog_in(world.clone()).await;
    for id in ["cat", "dan"] {
        given::customer(world, id).await.expect(201);
    }
    let plain = json!({"firstName": "Eve", "lastName": "Lee", "emailAddress": "e@example.com", "addresses": []});
    world.put("/api/customers/eve", plain).await.expect(201);
    given::set_password(world, "cat", PASSWORD).await.expect(204);
    let lines = [given::line("bikes", "b1", 2)];
    given::order_once(world, "key", "cat", &lines).await.expect(201);
    given::order_of(world, "cat", &lines).await.expect(201);
    let order = given::order_of(world, "dan", &[given::line("bikes", "b1", 1)]).await.expect(201);
    let path = format!("/api/customers/dan/orders/{}", order.json()["id"].as_str().unwrap());
    world.delete(&path).await.expect(204);
    for id in ["b2", "b3", "b4", "b5"] {
        given::product(world, "bikes", id, 10, &["red"]).await.expect(201);
    }
    let mut described = given::body("b2", 12, &["red"]);
    described["description"] = json!("A bike.");
    world.put(&given::path("bikes", "b2"), described).await.expect(200);
    given::moved(world, "bikes", "b3", "parts").await.expect(200);
    world.delete(&given::path("bikes", "b4")).await.expect(204);
    // The category is full: the move is taken back.
    world.endpoint.inject(Fault::RefusedWith(403, 1014), Create, "product", 1);
    given::moved(world, "bikes", "b5", "parts").await.expect(507);
    for path in ["categories/none", "tags/none"] {
        given::label(world, path, "None").await.expect(201);
        world.delete(&format!("/api/{path}")).await.expect(204);
    }
    given::label(world, "tags/red", "Crimson").await.expect(200);
}

/// Items in each container, edited, moved, migrated and archived.
async fn publish_news(world: &World) {
    let room = Newsroom::with(world.clone(), HYBRID).await;
    room.at_one_time();
    for (provider, days_ago) in
        [("reuters", 1.0), ("herald", 2.0), ("reuters", 75.0), ("gazette", 1_200.0)]
    {
        let url = format!("{provider}{days_ago}");
        room.post(provider, &url, days_ago).await.expect(201);
    }
    let mut edited = room.item("herald", "herald2", 2.0);
    edited["metadata"] = json!({"language": "en"});
    room.world.post("/api/news/items", edited).await.expect(200);
    for url in ["moved", "departing"] {
        room.post("reuters", url, 75.0).await.expect(201);
    }
    room.post("reuters", "moved", 10.0).await.expect(200);
    // An item that is due for the warm container leaves a carried copy in the hot one.
    let migrating = [HYBRID[0], ("News__MigrateAfterDays", "20")];
    let later = room.with_settings(&migrating).await;
    room.post("herald", "carried", 25.0).await.expect(201);
    later.migrate().await;
    room.post("gazette", "archived", 800.0).await.expect(201);
    let archiving = [HYBRID[0], ("News__ArchiveAfterYears", "1")];
    room.with_settings(&archiving).await.archive().await;
    drop(held((world, Replace, "feeds_locations"), room.post("reuters", "departing", 10.0)).await);
}

/// What a crash or an operator leaves: moves and renames that have begun, dead letters, a paused projection.
async fn leave_unfinished(world: &World) {
    let moving = async {
        given::moved(world, "bikes", "b2", "parts").await;
    };
    drop(held((world, Create, "product"), moving).await);
    user(world, "bob", "Bobby").await.expect(200);
    let background = BackgroundOptions { slice: Duration::ZERO, ..World::options().background };
    let hasty = world.with_app(AppOptions { background, ..World::options() }).await;
    given::label(world, "tags/red", "Scarlet").await.expect(200);
    for (function, container) in [("UsernamesInPosts", "users"), ("LabelNames", "productMeta")] {
        hasty.deliver(function, &world.items(container).await).await.unwrap();
    }
    let poem = |id: &str| json!({"id": id, "postId": id, "type": "poem"});
    world.deliver("HomeFeed", &[poem("one"), poem("two")]).await.unwrap();
    let letters = world.list("/api/dead-letters").await;
    let id = letters[0]["id"].as_str().unwrap();
    let replay = world.call("POST", &format!("/api/dead-letters/{id}/replay"), &[], None).await;
    assert!(replay.status.as_u16() < 500, "{}", replay.text);
    for (name, command) in [
        ("HomeFeed", "pause"),
        ("Leaderboard", "pause"),
        ("Leaderboard", "resume"),
        ("UsernamesInPosts", "rebuild"),
        ("PostCopiesInUsers", "rebuild"),
    ] {
        let body = (command != "resume").then(|| json!({"reason": "A bug"}));
        let path = format!("/api/projections/{name}/{command}");
        world.call("POST", &path, &[], body).await.expect(200);
        let timer = async {
            world.tick("MaintainProjections").await.unwrap();
        };
        match name {
            "UsernamesInPosts" => timer.await,
            // Its worker crashes in the audit.
            "PostCopiesInUsers" => drop(held((world, Query, "users"), timer).await),
            _ => {}
        }
    }
}
