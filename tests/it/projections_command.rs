//! `tributary projections` as a process, over TCP.

use serde_json::{Value, json};

use crate::{blog as given, handler::run_command, world::World};

async fn blog_with_dead_letters() -> (World, Vec<Value>) {
    let world = given::blog().await;
    for id in ["p2", "p3"] {
        given::post(&world, id, "ann").await.expect(201);
    }
    let posts = world.items("posts").await;
    for post in &posts {
        let id = &post["id"];
        world.write_item("posts", &json!({"id": id, "postId": id, "type": "poem"})).await;
    }
    world.deliver("HomeFeed", &world.items("posts").await).await.unwrap();
    (world, posts)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dead_letters_of_a_projection_are_replayed_by_one_command() {
    let (world, posts) = blog_with_dead_letters().await;
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let replay = async |more: &[&str]| {
        let arguments = [&["replay-dead-letters", "HomeFeed"], more].concat();
        let (code, out, _) = run_command(&connection, "projections", &arguments).await;
        (code, out)
    };
    assert_eq!(
        replay(&["--matching", "throttled"]).await,
        (0, "0 replayed, 0 failed again\n".into())
    );
    assert_eq!(replay(&["--matching", "p3"]).await, (2, "0 replayed, 1 failed again\n".into()));

    for post in &posts[..2] {
        world.write_item("posts", post).await;
    }
    // One that cannot be read keeps no other from being replayed.
    let odd = json!({"id": "HomeFeed.odd", "function": "HomeFeed", "failedAt": "9999"});
    world.write_item("dead-letters", &odd).await;
    assert_eq!(replay(&[]).await, (2, "2 replayed, 2 failed again\n".into()));
    world.write_item("posts", &posts[2]).await;
    assert_eq!(replay(&["--json"]).await, (2, "{\"replayed\":1,\"failed\":1}\n".into()));
    world.delete_item("dead-letters", "HomeFeed", "HomeFeed.odd").await;
    assert_eq!(replay(&["--json"]).await, (0, "{\"replayed\":0,\"failed\":0}\n".into()));
    assert!(world.list("/api/dead-letters").await.is_empty());
    let feed = world.get("/api/feed").await.json();
    assert_eq!(feed["items"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_projection_is_shown_and_replays_nothing_until_it_is_resumed() {
    let (world, _) = blog_with_dead_letters().await;
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let run = async |arguments: &[&str]| run_command(&connection, "projections", arguments).await;
    let (code, out, _) = run(&["pause", "HomeFeed", "--reason", "A bug"]).await;
    assert!(code == 0 && out.contains("paused") && out.contains("A bug"), "{out}");
    let (code, out, err) = run(&["replay-dead-letters", "HomeFeed"]).await;
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "tributary: The projection is paused. Resume it, then replay.\n");
    let (code, out, _) = run(&["resume", "HomeFeed", "--json"]).await;
    assert!(code == 0 && out.contains(r#""status":"running""#), "{out}");
    let (code, _, err) = run(&["status", "Unknown"]).await;
    assert!(code == 2 && err.contains("PostCopiesInUsers"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_shown_with_its_lag_and_taken_from_its_owner_by_force() {
    let world = given::blog().await;
    world.settle().await;
    given::post(&world, "p2", "ann").await.expect(201);
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    // The host name of the endpoint is a part of the names of the leases.
    let run = async |arguments: &[&str]| run_command(&connection, "projections", arguments).await;
    let (code, out, err) = run(&["list"]).await;
    assert!(code == 0 && out.contains("LAG") && out.contains("1 for "), "{out}{err}");
    let (code, out, _) = run(&["status", "HomeFeed"]).await;
    assert!(code == 0 && out.contains("LEASE") && out.contains("behind"), "{out}");
    let (code, _, err) = run(&["release-lease", "HomeFeed", "0"]).await;
    assert!(code == 2 && err.contains("The owner of this lease renews it."), "{err}");
    let (code, out, _) = run(&["release-lease", "HomeFeed", "0", "--force"]).await;
    assert!(code == 0 && out.starts_with("Lease 0 is released. Its owner was: "), "{out}");
    let (code, out, _) = run(&["status", "HomeFeed", "--json"]).await;
    assert!(code == 0 && out.contains(r#""lease":"0""#) && !out.contains("owner"), "{out}");
}
