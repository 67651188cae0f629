//! C1 and Q1: users.

use serde_json::json;

use super::given;
use crate::{
    expect::{bad_fields, created, is_timestamp, is_uuid_v7, problem},
    world::World,
};

#[tokio::test]
async fn a_new_user_is_found_at_its_location_with_the_fields_of_the_server() {
    let world = World::new().await;
    let body = json!({
        "username": "Ann", "id": "mine", "userId": "mine", "version": 9, "type": "post",
        "creationDate": "2001-01-01T00:00:00.000Z", "colour": {"red": [1, null]},
    });
    let answer = world.post("/api/users", body.clone()).await;
    let id = answer.json()["id"].clone();
    let user = created(&world, &answer, &format!("/api/users/{}", id.as_str().unwrap())).await;
    assert!(user["creationDate"].as_str().unwrap() > "2020");
    is_uuid_v7(&id);
    is_timestamp(&user["creationDate"]);
    let expected = json!({"id": id, "username": "Ann", "creationDate": user["creationDate"]});
    assert_eq!(user, expected);
    let renamed = given::user(&world, id.as_str().unwrap(), "Anna").await.expect(200);
    let expected = json!({"id": id, "username": "Anna", "creationDate": user["creationDate"]});
    assert_eq!(renamed.json(), expected);
    let mut other = body;
    other["username"] = json!("Bob");
    assert_eq!(world.put("/api/users/bob", other).await.expect(201).json()["id"], "bob");
    world.get("/api/users/mine").await.expect(404);
}

#[tokio::test]
async fn a_name_is_trimmed_and_has_only_visible_characters() {
    let world = World::new().await;
    let sign_up = async |name: &str| world.post("/api/users", json!({"username": name})).await;
    for name in [&format!(" \t{}  ", "ä".repeat(64)), " x ", "two words"] {
        assert_eq!(sign_up(name).await.expect(201).json()["username"], name.trim());
    }
    for name in ["   ", "a\u{0}b", "a\nb", "a\u{85}b", "a\tb", "An\u{200b}n"] {
        assert_eq!(bad_fields(&sign_up(name).await), ["username"], "{name:?}");
    }
}

#[tokio::test]
async fn a_rename_to_the_same_name_or_to_a_refused_one_changes_nothing() {
    let world = given::blog().await;
    let before = world.get("/api/users/ann").await.expect(200);
    for name in ["Ann", " Ann "] {
        let again = given::user(&world, "ann", name).await.expect(200);
        assert_eq!(again.json(), before.json());
        assert_eq!(again.header("etag"), before.header("etag"));
    }
    problem(&given::user(&world, "ann", "BOB").await, 409);
    bad_fields(&given::user(&world, "ann", "").await);
    let after = world.get("/api/users/ann").await.expect(200);
    assert_eq!(after.header("etag"), before.header("etag"));
}

#[tokio::test]
async fn a_name_older_than_this_rule_is_read_and_copied_and_can_be_changed() {
    let world = given::blog().await;
    world.change_item("users", "ann", &json!({"username": "An\u{200b}n"})).await;
    // This instance does not remember the other name of Ann.
    let world = world.second_instance().await;
    assert_eq!(world.get("/api/users/ann").await.expect(200).json()["username"], "An\u{200b}n");
    given::post(&world, "p2", "ann").await.expect(201);
    given::comment(&world, "p1", "ann", "Mine.").await.expect(201);
    world.settle().await;
    let feed = world.get("/api/feed").await.expect(200).json();
    assert_eq!(feed["items"][0]["userUsername"], "An\u{200b}n");
    assert!(world.items("dead-letters").await.is_empty());
    given::user(&world, "ann", "Anna").await.expect(200);
    world.settle().await;
    let comments = world.get("/api/posts/p1/comments").await.expect(200).json();
    assert_eq!(comments["items"][0]["userUsername"], "Anna");
}

#[tokio::test]
async fn a_number_that_is_none_keeps_no_other_item_from_a_new_name() {
    for (field, number) in [("version", json!(1_u64 << 53)), ("usernameVersion", json!(1.5))] {
        let world = given::blog().await;
        given::post(&world, "p2", "ann").await.expect(201);
        world.change_item("posts", "p1", &json!({field: number})).await;
        given::user(&world, "ann", "Anna").await.expect(200);
        world.settle().await;
        assert_eq!(world.item("posts", "p2").await["userUsername"], "Anna", "{field}");
        problem(&given::like(&world, "p1", "bob").await, 500);
        let letters = world.items("dead-letters").await;
        let (of_post, others): (Vec<_>, Vec<_>) =
            letters.iter().partition(|letter| letter["documentId"] == "p1");
        let reason = format!("not an item of `posts`: a `post` has a wrong value in `{field}`");
        assert!(
            of_post.len() > 2 && of_post.iter().all(|it| it["reason"] == *reason),
            "{of_post:?}"
        );
        // The rename has a copy left that it cannot read.
        let reason = "a copy that is there cannot be read, or the store refused one; see the log";
        assert!(others.iter().all(|it| it["reason"] == reason), "{others:?}");
    }
}
