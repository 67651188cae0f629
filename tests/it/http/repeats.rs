//! The Functions host repeats a request without a body up to 40 times when its connection to the
//! handler breaks, also to a handler that was started anew, always under one invocation id.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    blog::given,
    http::expect::problem,
    world::{Answer, World},
};

/// As often as the host repeats a request.
const TIMES: usize = 40;

async fn invoke(world: &World, invocation: &str, (method, path): (&str, &str)) -> Answer {
    let headers = [("x-azure-functions-invocationid", invocation)];
    world.call(method, path, &headers, None).await
}

/// Sends a request 40 times at once to two instances, and then to one that was just started.
async fn repeated(world: &World, invocation: &str, request: (&str, &str), status: u16) {
    let other = world.second_instance().await;
    let sent = (0..TIMES).map(|n| {
        let world = if n % 4 == 0 { &other } else { world };
        invoke(world, invocation, request)
    });
    let mut answers = join_all(sent).await;
    answers.push(invoke(&world.second_instance().await, invocation, request).await);
    let (first, others) = answers.split_first().unwrap();
    assert_eq!(first.status, status, "{request:?}: {}", first.text);
    for answer in others {
        assert_eq!((answer.status, &answer.text), (first.status, &first.text), "{request:?}");
        assert_eq!(answer.header("etag"), first.header("etag"), "{request:?}");
        assert_eq!(answer.header("location"), first.header("location"), "{request:?}");
    }
}

#[tokio::test]
async fn a_command_that_the_host_repeats_is_carried_out_once_and_answered_as_the_first_time() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let (like, post) = ("/api/posts/p1/likes/bob", "/api/posts/p1");
    let comment = comment.header("location");

    repeated(&world, "1", ("PUT", like), 201).await;
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
    repeated(&world, "2", ("PUT", like), 200).await;
    repeated(&world, "3", ("DELETE", like), 204).await;
    repeated(&world, "4", ("DELETE", comment), 204).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
    // Under another invocation it is another command.
    for (invocation, path) in [("5", like), ("6", comment)] {
        problem(&invoke(&world, invocation, ("DELETE", path)).await, 404);
    }

    repeated(&world, "7", ("DELETE", post), 204).await;
    problem(&invoke(&world, "8", ("DELETE", post)).await, 404);
}

#[tokio::test]
async fn a_delete_that_is_repeated_late_does_not_delete_what_was_made_meanwhile() {
    let world = given::blog().await;
    let delete_like = ("DELETE", "/api/posts/p1/likes/bob");
    given::like(&world, "p1", "bob").await.expect(201);
    invoke(&world, "1", delete_like).await.expect(204);
    given::like(&world, "p1", "bob").await.expect(201);
    invoke(&world.second_instance().await, "1", delete_like).await.expect(204);
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);

    let delete_comment = async |comment: &Answer| {
        invoke(&world, "2", ("DELETE", comment.header("location"))).await.expect(204);
    };
    let comment = given::comment_once(&world, "k", "p1", "bob", "Nice").await.expect(201);
    delete_comment(&comment).await;
    problem(&given::comment_once(&world, "k", "p1", "bob", "Nice").await, 409);
    delete_comment(&comment).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);

    let delete_post = ("DELETE", "/api/posts/p1");
    invoke(&world, "3", delete_post).await.expect(204);
    given::post(&world, "p1", "ann").await.expect(201);
    invoke(&world, "3", delete_post).await.expect(204);
    world.get("/api/posts/p1").await.expect(200);
    // What was deleted with the post was deleted by its own command first.
    invoke(&world, "1", delete_like).await.expect(204);
}

#[tokio::test]
async fn a_replay_or_delete_of_a_dead_letter_that_is_repeated_is_answered_as_the_first_time() {
    for (method, path, status) in [("POST", "/replay", 200), ("DELETE", "", 204)] {
        let world = given::blog().await;
        let text = json!({"id": "bad", "postId": "bad", "type": "poem"});
        let posts = given::container(&world, "posts").await;
        posts.upsert_item("bad", "bad", &text, None).await.unwrap();
        world.deliver("PostCopiesInUsers", std::slice::from_ref(&text)).await.unwrap();
        let letter = world.list("/api/dead-letters").await.remove(0);
        posts.delete_item("bad", "bad", None).await.unwrap();
        let path = format!("/api/dead-letters/{}{path}", letter["id"].as_str().unwrap());
        repeated(&world, "1", (method, &path), status).await;
        assert!(world.list("/api/dead-letters").await.is_empty());
        problem(&invoke(&world, "2", (method, &path)).await, 404);

        // It fails anew, and the repetition of the first command leaves it alone.
        world.deliver("PostCopiesInUsers", std::slice::from_ref(&text)).await.unwrap();
        invoke(&world, "1", (method, &path)).await.expect(status);
        assert_eq!(world.list("/api/dead-letters").await.len(), 1);
        assert_eq!(world.list("/api/dead-letters").await[0]["id"], letter["id"]);
    }
}

#[tokio::test]
async fn a_crowd_whose_deletes_are_repeated_hears_of_its_own_deletes() {
    let world = given::blog().await;
    let users: Vec<_> = (0..64).map(|n| format!("u{n}")).collect();
    for user in &users {
        given::user(&world, user, &format!("User {user}")).await.expect(201);
        given::like(&world, "p1", user).await.expect(201);
    }
    let restarted = world.second_instance().await;
    for world in [&world, &restarted] {
        let paths: Vec<_> =
            users.iter().map(|user| format!("/api/posts/p1/likes/{user}")).collect();
        let sent = paths.iter().map(|path| invoke(world, path, ("DELETE", path)));
        for answer in join_all(sent).await {
            answer.expect(204);
        }
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn what_commands_are_remembered_by_is_in_no_answer_and_no_copy() {
    let world = given::blog().await;
    let like = "/api/posts/p1/likes/bob";
    invoke(&world, "1", ("PUT", like)).await.expect(201);
    given::like(&world, "p1", "ann").await.expect(201);
    invoke(&world, "2", ("DELETE", like)).await.expect(204);
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
