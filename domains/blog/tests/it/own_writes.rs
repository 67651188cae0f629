//! A caller that posts, comments, likes, renames itself and deletes, and at once reads every list that shows
//! it, at another instance.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_testing::checks::OwnWrites;

use super::given;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_list_shows_the_writes_of_its_caller() {
    let world = given::blog().await;
    let stale = ["users", "posts", "feed"];
    // A list whose trigger has never run is behind.
    world.settle().await;
    let mut caller = OwnWrites::of(&world, Duration::from_millis(500), &stale).await;
    let ids = |list: &Value| {
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let lists = ["/api/users/ann/posts", "/api/feed"];

    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    caller.write("PUT", "/api/posts/p2", Some(post)).await;
    for path in lists {
        caller.read(path, |list| ids(list) == ["p2", "p1"]).await;
    }

    let comment = json!({"userId": "ann", "content": "C"});
    let comment = caller.write("POST", "/api/posts/p2/comments", Some(comment)).await.json();
    caller.write("PUT", "/api/posts/p2/likes/ann", None).await;
    caller
        .read("/api/posts/p2/comments", |list| ids(list) == [comment["id"].as_str().unwrap()])
        .await;
    caller.read("/api/posts/p2/likes", |list| ids(list).len() == 1).await;
    for path in lists {
        caller.read(path, |list| list["items"][0]["likeCount"] == 1).await;
    }

    // The reservation of the old name is deleted, which the change feed does not show.
    caller.write("PUT", "/api/users/ann", Some(json!({"username": "Anna"}))).await;
    let is_anna = |item: &Value| item["userUsername"] == "Anna";
    let are_anna = |list: &Value| list["items"].as_array().unwrap().iter().all(is_anna);
    for path in lists.into_iter().chain(["/api/posts/p2/comments", "/api/posts/p2/likes"]) {
        caller.read(path, are_anna).await;
    }
    caller.read("/api/posts/p2", is_anna).await;

    caller.write("DELETE", "/api/posts/p2", None).await;
    for path in lists {
        caller.read(path, |list| ids(list) == ["p1"]).await;
    }
}

/// A rename deletes the reservation of the old name, which has a position and no change.
#[tokio::test]
async fn a_delete_that_the_feed_does_not_show_ends_the_wait() {
    let world = given::blog().await;
    let renamed = given::user(&world, "ann", "Anna").await.expect(200);
    world.settle().await;
    let token = renamed.header("consistency-token");
    // The write of another user's copy would bring the lease beyond the delete.
    let renamed = world
        .call(
            "PUT",
            "/api/users/bob",
            &[("consistency-token", token)],
            Some(json!({"username": "Bobby"})),
        )
        .await
        .expect(200);
    world.settle().await;
    let headers =
        [("consistency-token", renamed.header("consistency-token")), ("prefer", "wait=3")];
    let post = world.call("GET", "/api/posts/p1", &headers, None).await.expect(200);
    assert_eq!(post.header("copies-behind"), "");
}
