//! `PUT` and `GET` of `/categories/{categoryId}` and `/tags/{tagId}`.

use serde_json::{Value, json};

use super::shop::{KINDS, item, label};
use crate::{
    expect::{bad_fields, created, members, problem},
    world::World,
};

#[tokio::test]
async fn a_put_creates_and_then_renames() {
    let world = World::new().await;
    for (list, kind) in KINDS {
        let path = format!("{list}/red");
        let location = format!("/api/{path}");
        problem(&world.get(&location).await, 404);
        let made = created(&world, &label(&world, &path, "Red").await, &location).await;
        assert_eq!(made, json!({"id": "red", "name": "Red"}));
        let requests_before = world.endpoint.request_count();
        let renamed = label(&world, &path, "Crimson").await.expect(200);
        assert_eq!(world.endpoint.request_count() - requests_before, 2);
        assert_eq!(renamed.json()["name"], "Crimson");
        let there = world.get(&location).await.expect(200);
        assert_eq!((there.json(), there.header("etag")), (renamed.json(), renamed.header("etag")));
        let none_match = [("if-none-match", there.header("etag"))];
        world.call("GET", &location, &none_match, None).await.expect(304);
        assert_eq!(item(&world, "productMeta", kind, "red").await["version"], 2);
        // The same name again is no new version.
        let same = label(&world, &path, "Crimson").await.expect(200);
        assert_eq!(same.header("etag"), renamed.header("etag"));
    }
}

#[tokio::test]
async fn a_bad_name_or_id_is_named() {
    let world = World::new().await;
    for (list, kind) in KINDS {
        let put = async |id: &str, body: Value| world.put(&format!("/api/{list}/{id}"), body).await;
        let long = "n".repeat(201);
        for body in [json!({}), json!({"name": ""}), json!({"name": 1}), json!({"name": long})] {
            assert_eq!(bad_fields(&put("red", body).await), ["name"]);
        }
        put("red", json!({"name": "🚲".repeat(200), "version": 7, "unknown": 1})).await.expect(201);
        let fields = bad_fields(&put("-red", json!({"name": "Red"})).await);
        assert_eq!(fields, [format!("{kind}Id")]);
        let there = world.get(&format!("/api/{list}/red")).await.json();
        assert_eq!(members(&there), ["id", "name"]);
    }
}
