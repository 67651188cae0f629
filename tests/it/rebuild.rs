//! Projections are rebuilt: by the command `tributary projections` as a process, and with the audit of a
//! domain.

use serde_json::{Value, json};
use tokio::process::Command;
use tributary_local::cosmos::RequestKind;

use crate::{
    blog as given,
    handler::{output_of, run_command, start_command},
    world::World,
};

/// Returns a blog with three posts of Ann, whose copies were made.
async fn blog() -> World {
    let world = given::blog().await;
    for id in ["p2", "p3"] {
        given::post(&world, id, "ann").await.expect(201);
    }
    world.settle().await;
    world
}

/// Returns the copies of posts in the container of users, without what the store adds.
async fn copies(world: &World) -> Vec<Value> {
    let mut items = world.items("users").await;
    items.retain(|item| item["type"] == "post");
    for item in &mut items {
        item.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
    }
    items.sort_by_key(|item| item["postId"].to_string());
    items
}

#[tokio::test]
async fn a_rebuild_brings_copies_back_corrects_them_and_removes_those_without_a_source() {
    let world = blog().await;
    let right = copies(&world).await;
    assert_eq!(right.len(), 3);
    world.delete_item("users", "ann", right[0]["id"].as_str().unwrap()).await;
    let mut wrong = right[1].clone();
    wrong["title"] = json!("Written by a bug, in the version of its post");
    world.write_item("users", &wrong).await;
    let mut orphan = right[2].clone();
    orphan["id"] = json!("p9");
    orphan["postId"] = json!("p9");
    world.write_item("users", &orphan).await;

    world.post("/api/projections/PostCopiesInUsers/rebuild", json!({})).await.expect(200);
    world.tick("MaintainProjections").await.unwrap();
    let view = world.get("/api/projections/PostCopiesInUsers").await.expect(200).json();
    assert_eq!((&view["status"], &view["rebuild"]["step"]), (&json!("running"), &json!("done")));
    let counts = ["read", "findings", "repaired"].map(|name| &view["rebuild"]["progress"][name]);
    assert_eq!(counts, [3, 2, 2]);
    assert_eq!(copies(&world).await, right);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_with_a_rebuild_that_was_asked_for_and_leaves_another_workers_alone() {
    let world = blog().await;
    let asked = world.post("/api/projections/HomeFeed/rebuild", json!({})).await;
    asked.expect(200);
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let run = async |arguments: &[&str]| run_command(&connection, "projections", arguments).await;

    let mut state = world.item("projections", "HomeFeed").await;
    let worker = json!({"id": "another", "until": "2999-01-01T00:00:00.000Z"});
    state["rebuild"]["worker"] = worker;
    world.write_item("projections", &state).await;
    let (code, _, err) = run(&["rebuild", "HomeFeed"]).await;
    assert!(code == 2 && err.contains("another process works on the rebuild of HomeFeed"), "{err}");
    let (code, _, err) = run(&["rewind", "HomeFeed", "--since", "2026-01-01T00:00:00Z"]).await;
    assert!(code == 2 && err.contains("is under way"), "{err}");

    state["rebuild"]["worker"]["until"] = json!("2026-01-01T00:00:00.000Z");
    world.write_item("projections", &state).await;
    let (code, out, err) = run(&["rebuild", "HomeFeed"]).await;
    assert!(code == 0 && err.contains("Goes on with the rebuild that was asked for at"), "{err}");
    assert!(out.contains("3 items read, 0 applied, 0 dead letters, 0 findings"), "{out}");
    let (code, out, err) = run(&["rebuild", "HomeFeed", "--json"]).await;
    assert_eq!(code, 0, "{out}{err}");
    let view: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&view["status"], &view["rebuild"]["step"]), (&json!("running"), &json!("done")));
    let (code, out, _) = run(&["cancel-rebuild", "HomeFeed"]).await;
    assert!(code == 0 && out.contains("running"), "{out}");
    let (code, _, err) = run(&["rewind", "HomeFeed", "--since", "yesterday"]).await;
    assert!(code == 2 && err.contains("--since"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_a_rebuild_at_once_and_the_next_worker_need_not_wait() {
    let world = blog().await;
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let mut hold = world.endpoint.hold(RequestKind::Query, "posts");
    let rebuild = start_command(&connection, "projections", &["rebuild", "HomeFeed"]);
    hold.arrived().await;
    let state = world.item("projections", "HomeFeed").await;
    assert!(state["rebuild"]["worker"]["id"].is_string(), "{state}");
    let id = rebuild.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let (code, _, err) = output_of(rebuild).await;
    assert!(code == 2 && err.contains("A timer of the app goes on"), "{code}: {err}");
    hold.release();
    let state = world.item("projections", "HomeFeed").await;
    assert!(state["rebuild"]["worker"].is_null(), "{state}");
    world.tick("MaintainProjections").await.unwrap();
    let projection = world.get("/api/projections/HomeFeed").await.json();
    assert_eq!(projection["rebuild"]["step"], "done", "{projection}");
}
