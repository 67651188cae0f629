//! C1: `POST /users`.

use serde_json::json;

use super::given;
use crate::{
    expect::{bad_fields, created, date, is_uuid_v7, new_id, problem},
    world::World,
};

#[tokio::test]
async fn a_new_user_gets_an_id_and_is_found_at_its_location() {
    let world = World::new().await;
    let answer = world.post("/api/users", json!({"username": "Ann"})).await;
    let id = answer.json()["id"].clone();
    let user = created(&world, &answer, &format!("/api/users/{}", id.as_str().unwrap())).await;
    insta::assert_json_snapshot!(user, {".id" => new_id(), ".creationDate" => date()}, @r#"
    {
      "creationDate": "[date]",
      "id": "[new id]",
      "username": "Ann"
    }
    "#);
}

#[tokio::test]
async fn the_server_sets_the_fields_that_it_owns() {
    let world = World::new().await;
    let body = json!({
        "username": "Ann", "id": "mine", "userId": "mine", "version": 9, "type": "post",
        "creationDate": "2001-01-01T00:00:00.000Z", "colour": {"red": [1, null]},
    });
    let user = world.post("/api/users", body).await.expect(201).json();
    is_uuid_v7(&user["id"]);
    assert!(user["creationDate"].as_str().unwrap() > "2020");
    assert_eq!(user.get("colour"), None);
    world.get("/api/users/mine").await.expect(404);
}

#[tokio::test]
async fn a_name_is_trimmed_and_counted_in_code_points() {
    let world = World::new().await;
    for (name, stored) in [
        (format!(" \t{}  ", "ä".repeat(64)), "ä".repeat(64)),
        ("😀".repeat(64), "😀".repeat(64)),
        (" x ".into(), "x".into()),
        ("two words".into(), "two words".into()),
    ] {
        let user = world.post("/api/users", json!({"username": name})).await.expect(201).json();
        assert_eq!(user["username"], stored);
    }
}

#[tokio::test]
async fn a_name_that_breaks_a_rule_is_refused() {
    let world = World::new().await;
    for name in [
        String::new(),
        "   ".into(),
        "ä".repeat(65),
        "a\u{0}b".into(),
        "a\nb".into(),
        "a\u{7f}b".into(),
        "a\u{85}b".into(),
        "a\tb".into(),
    ] {
        let answer = world.post("/api/users", json!({"username": name})).await;
        assert_eq!(bad_fields(&answer), ["username"], "{name:?}");
    }
}

#[tokio::test]
async fn a_name_that_is_missing_or_no_text_is_refused() {
    let world = World::new().await;
    for body in [
        json!({}),
        json!({"username": null}),
        json!({"username": 7}),
        json!({"username": true}),
        json!({"username": ["Ann"]}),
        json!({"username": {"text": "Ann"}}),
        json!({"Username": "Ann"}),
    ] {
        let answer = world.post("/api/users", body.clone()).await;
        assert_eq!(bad_fields(&answer), ["username"], "{body}");
    }
}

#[tokio::test]
async fn a_taken_name_is_a_conflict() {
    let world = given::blog().await;
    problem(&world.post("/api/users", json!({"username": "Ann"})).await, 409);
}
