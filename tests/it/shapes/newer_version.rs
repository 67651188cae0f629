//! Today's code beside a newer version, which stores properties that today's code does not know.

use serde_json::{Value, json};
use tributary_testing::checks::shapes::NewerVersion;

use super::story;
use crate::{
    blog::{self, comment, post},
    webstore::{details, set_password, shop, verify},
    world::World,
};

#[tokio::test]
async fn no_property_of_a_newer_version_is_lost_beside_it() {
    let world = World::new().await;
    let newer = NewerVersion::of(&world).moved_within(&["product"]).moved_within(&[
        "feeds_current",
        "feeds_historical",
        "feeds_archive",
    ]);
    story::tell(&world, |world| newer.beside(world)).await;
    assert_eq!(newer.lost(), [""; 0]);
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
