//! Commands of the blog that the Functions host repeats: a request without a body, up to 40 times, when its
//! connection to the handler breaks, always under one invocation id.

use serde_json::Value;
use tributary_testing::checks::answered_as_the_first_time;

use crate::{blog as given, expect::problem, world::Answer};

#[tokio::test]
async fn a_command_repeated_by_the_host_is_carried_out_once_with_the_same_answer() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let like = "/api/posts/p1/likes/bob";
    let post = "/api/posts/p1";
    let comment = comment.header("location");

    answered_as_the_first_time(&world, "1", ("PUT", like), 201).await;
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
    answered_as_the_first_time(&world, "2", ("PUT", like), 200).await;
    answered_as_the_first_time(&world, "3", ("DELETE", like), 204).await;
    answered_as_the_first_time(&world, "4", ("DELETE", comment), 204).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
    // Under another invocation it is another command.
    for (invocation, path) in [("5", like), ("6", comment)] {
        problem(&world.invoke(invocation, ("DELETE", path)).await, 404);
    }

    answered_as_the_first_time(&world, "7", ("DELETE", post), 204).await;
    problem(&world.invoke("8", ("DELETE", post)).await, 404);
}

#[tokio::test]
async fn a_delete_repeated_late_does_not_delete_a_newer_item() {
    let world = given::blog().await;
    let delete_like = ("DELETE", "/api/posts/p1/likes/bob");
    given::like(&world, "p1", "bob").await.expect(201);
    world.invoke("1", delete_like).await.expect(204);
    given::like(&world, "p1", "bob").await.expect(201);
    world.second_instance().await.invoke("1", delete_like).await.expect(204);
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);

    let delete_comment = async |comment: &Answer| {
        world.invoke("2", ("DELETE", comment.header("location"))).await.expect(204);
    };
    let comment = given::comment_once(&world, "k", "p1", "bob", "Nice").await.expect(201);
    delete_comment(&comment).await;
    problem(&given::comment_once(&world, "k", "p1", "bob", "Nice").await, 409);
    delete_comment(&comment).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);

    let delete_post = ("DELETE", "/api/posts/p1");
    world.invoke("3", delete_post).await.expect(204);
    given::post(&world, "p1", "ann").await.expect(201);
    world.invoke("3", delete_post).await.expect(204);
    world.get("/api/posts/p1").await.expect(200);
    // The items of the deleted post were deleted by their own commands first.
    world.invoke("1", delete_like).await.expect(204);
}

#[tokio::test]
async fn remembered_commands_are_in_no_answer_and_no_copy() {
    let world = given::blog().await;
    let like = "/api/posts/p1/likes/bob";
    world.invoke("1", ("PUT", like)).await.expect(201);
    given::like(&world, "p1", "ann").await.expect(201);
    world.invoke("2", ("DELETE", like)).await.expect(204);
    world.settle().await;
    let has = |item: &Value| item.get("recent").or_else(|| item.get("by")).is_some();
    assert_eq!(world.items("posts").await.iter().filter(|item| has(item)).count(), 2);
    for container in ["users", "feed"] {
        assert!(!world.items(container).await.iter().any(has));
    }
    for path in ["posts/p1", "posts/p1/likes", "posts/p1/likes/ann", "users/ann/posts", "feed"] {
        let text = world.get(&format!("/api/{path}")).await.expect(200).text;
        assert!(!text.contains("\"recent\"") && !text.contains("\"by\""), "{path}: {text}");
    }
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;
    for container in ["users", "feed"] {
        assert!(!world.items(container).await.iter().any(has));
    }
}
