//! What a projection does about a store that is busy, away, or loses its answers, and about data
//! that it can make nothing of.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Create, Query, Read, Replace, Upsert},
};

use crate::{blog::given, world::World};

/// More faults than any invocation can meet.
const ENDLESS: usize = 1_000_000;

/// Trouble that passes, each kind as often as an invocation can wait for. The SDK repeats a request
/// on its own, so that one refusal is seen by nobody.
const PASSING: [(Fault, usize); 5] = [
    (Fault::Refused(429), 25),
    (Fault::Refused(449), 1),
    (Fault::Refused(503), 6),
    (Fault::Refused(412), 4),
    (Fault::AnswerLost, 2),
];

/// The copies of the post `p1` in the feed and beside its author.
async fn copies(world: &World) -> [Vec<Value>; 2] {
    let feed = world.get("/api/feed").await.expect(200).json()["items"].clone();
    [feed.as_array().unwrap().clone(), world.list("/api/users/ann/posts").await]
}

/// Both copies are there, and as the post is.
async fn copies_are_true(world: &World) {
    let post = world.get("/api/posts/p1").await.expect(200).json();
    for copies in copies(world).await {
        assert_eq!(copies, std::slice::from_ref(&post));
    }
    assert!(world.items("dead-letters").await.is_empty(), "nothing was given up");
}

/// Delivers until it succeeds, and tells how often it failed before.
async fn deliver_until_it_succeeds(world: &World, function: &str, items: &[Value]) -> usize {
    let mut failures = 0;
    while world.deliver(function, items).await.is_err() {
        failures += 1;
        assert!(failures < 1_000, "{function} never succeeds");
    }
    failures
}

#[tokio::test]
async fn trouble_that_passes_is_waited_for_within_the_invocation() {
    let world = given::blog().await;
    for (fault, times) in PASSING {
        for (kind, container) in [
            (Read, "users"),
            (Create, "users"),
            (Replace, "users"),
            (Read, "feed"),
            (Batch, "feed"),
        ] {
            world.endpoint.inject(fault, kind, container, times);
        }
        let items = world.items("posts").await;
        for function in ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"] {
            world.deliver(function, &items).await.unwrap();
        }
        copies_are_true(&world).await;
        let edited = json!({"userId": "ann", "title": format!("{fault:?}"), "content": "C"});
        world.put("/api/posts/p1", edited).await.expect(200);
    }
}

#[tokio::test]
async fn a_rename_survives_all_kinds_of_trouble() {
    let world = given::blog().await;
    given::comment(&world, "p1", "ann", "Well.").await.expect(201);
    for (n, (fault, times)) in PASSING.into_iter().enumerate() {
        given::user(&world, "ann", &format!("Ann {n}")).await.expect(200);
        world.endpoint.inject(fault, Query, "posts", times);
        world.endpoint.inject(fault, Replace, "posts", times);
        let users = world.items("users").await;
        world.deliver("UsernamesInPosts", &users).await.unwrap();
        let posts = world.items("posts").await;
        for item in posts.iter().filter(|item| item["userId"] == "ann") {
            assert_eq!(item["userUsername"], format!("Ann {n}"), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn what_an_invocation_cannot_apply_in_its_time_is_delivered_again_and_not_lost() {
    let world = given::blog().await;
    let world = world.with_budget(Duration::from_millis(20)).await;
    let items = world.items("posts").await;
    for (function, kind, container) in
        [("PostCopiesInUsers", Create, "users"), ("HomeFeed", Batch, "feed")]
    {
        for status in [429, 503, 412] {
            world.endpoint.inject(Fault::Refused(status), kind, container, 60);
        }
        let failures = deliver_until_it_succeeds(&world, function, &items).await;
        assert!(failures > 0, "{function} was to fail");
    }
    copies_are_true(&world).await;
}

#[tokio::test]
async fn what_a_full_partition_refuses_is_a_dead_letter_and_a_missing_container_is_waited_for() {
    let world = given::blog().await;
    let world = world.with_budget(Duration::from_millis(20)).await;
    let items = world.items("posts").await;
    world.endpoint.inject(Fault::RefusedWith(404, 1003), Create, "users", 60);
    let failures = deliver_until_it_succeeds(&world, "PostCopiesInUsers", &items).await;
    assert!(failures > 0);
    assert!(world.items("dead-letters").await.is_empty());
    given::post(&world, "p2", "ann").await.expect(201);
    world.endpoint.inject(Fault::RefusedWith(403, 1014), Create, "users", 1);
    world.deliver("PostCopiesInUsers", &world.items("posts").await).await.unwrap();
    let letters = world.items("dead-letters").await;
    let [letter] = letters.as_slice() else { panic!("{letters:?}") };
    assert!(letter["reason"].as_str().unwrap().contains("20 GB"), "{letter}");
}

#[tokio::test]
async fn the_time_is_that_of_the_invocation_and_not_of_each_change() {
    let world = given::blog().await;
    for n in 0..99 {
        given::post(&world, &format!("p{}", n + 2), "ann").await.expect(201);
    }
    let posts = world.items("posts").await;
    world.endpoint.inject(Fault::Refused(429), Create, "users", ENDLESS);
    let world = world.with_budget(Duration::ZERO).await;
    let requests = async |items: &[Value]| {
        let mark = world.endpoint.request_count();
        world.deliver("PostCopiesInUsers", items).await.unwrap_err();
        world.endpoint.request_count() - mark
    };
    let _ = requests(&posts[..1]).await; // It looks the container up.
    let of_one = requests(&posts[..1]).await;
    let of_all = requests(&posts).await;
    assert!(of_all <= 16 * of_one, "{of_all} requests, {of_one} for one change");
}

#[tokio::test]
async fn a_batch_may_take_longer_than_that_as_long_as_nothing_fails() {
    let world = given::blog().await.with_budget(Duration::ZERO).await;
    let items = world.items("posts").await;
    for function in ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"] {
        world.deliver(function, &items).await.unwrap();
    }
    copies_are_true(&world).await;
}

#[tokio::test]
async fn the_removal_of_comments_fails_in_time_too() {
    let world = given::blog().await.with_budget(Duration::from_millis(20)).await;
    given::comment(&world, "p1", "bob", "Well.").await.expect(201);
    world.delete("/api/posts/p1").await.expect(204);
    let items = world.items("posts").await;
    world.endpoint.inject(Fault::Refused(429), Batch, "posts", 60);
    assert!(deliver_until_it_succeeds(&world, "PostsIntegrity", &items).await > 0);
    assert_eq!(world.items("posts").await.len(), 1, "only the mark is left");
}

#[tokio::test]
async fn a_copy_that_nobody_can_read_is_a_dead_letter_and_the_rest_goes_on() {
    let world = given::blog().await;
    given::post(&world, "p2", "ann").await.expect(201);
    let odd = json!({"id": "post:p2", "userId": "ann", "type": "post", "version": "odd"});
    world.container("users").await.create_item("ann", "post:p2", &odd, None).await.unwrap();
    let items = world.items("posts").await;
    world.deliver("PostCopiesInUsers", &items).await.unwrap();

    let letters = world.items("dead-letters").await;
    let [letter] = letters.as_slice() else { panic!("{letters:?}") };
    assert_eq!(letter["function"], "PostCopiesInUsers");
    assert_eq!(letter["documentId"], "p2");
    assert_eq!(letter["partitionKey"], "p2");
    assert_eq!(letter["invocationId"], "an-invocation");
    assert!(letter["reason"].as_str().unwrap().contains("cannot be read"), "{letter}");
    let users = world.items("users").await;
    assert!(users.iter().any(|item| item["id"] == "post:p1"), "the rest went on");
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_stored_keeps_its_batch_from_being_acknowledged() {
    let world = given::blog().await;
    let odd = json!({"id": "odd", "postId": "odd", "type": "poem"});
    world.container("posts").await.create_item("odd", "odd", &odd, None).await.unwrap();
    let items = world.items("posts").await;
    for (status, times) in [(429, 60), (503, 60), (400, 1), (404, 60)] {
        let fault = Fault::Refused(status);
        let world = world.with_budget(Duration::from_millis(20)).await;
        world.endpoint.inject(fault, Upsert, "dead-letters", times);
        let failures = deliver_until_it_succeeds(&world, "HomeFeed", &items).await;
        assert!(failures > 0, "{fault:?} was to fail");
        assert_eq!(world.items("dead-letters").await.len(), 1);
    }
    // And one that can be stored a moment later is stored within the invocation.
    world.endpoint.inject(Fault::Refused(429), Upsert, "dead-letters", 25);
    world.deliver("HomeFeed", &items).await.unwrap();
}

#[tokio::test]
async fn what_spoils_a_transaction_for_all_holds_up_no_other() {
    let world = given::blog().await;
    for n in 0..20 {
        given::post(&world, &format!("n{n}"), "ann").await.expect(201);
    }
    // One of the copies cannot be read.
    let odd = json!({"id": "n7", "type": "post", "version": "odd"});
    world.container("feed").await.create_item("post", "n7", &odd, None).await.unwrap();
    let items = world.items("posts").await;
    // In one round, for there may be no time for another.
    let world = world.with_budget(Duration::ZERO).await;
    world.deliver("HomeFeed", &items).await.unwrap();
    let letters = world.items("dead-letters").await;
    let [letter] = letters.as_slice() else { panic!("{letters:?}") };
    assert_eq!((&letter["function"], &letter["documentId"]), (&json!("HomeFeed"), &json!("n7")));
    let head = world.items("feed").await.into_iter().find(|item| item["id"] == "~head").unwrap();
    assert_eq!(head["members"].as_array().unwrap().len(), 20, "all but that one");
}

#[tokio::test]
async fn a_group_that_fails_is_tried_again_in_halves() {
    let world = given::blog().await;
    for n in 0..39 {
        given::post(&world, &format!("n{n}"), "ann").await.expect(201);
    }
    let items = world.items("posts").await;
    let batches = async |refused: usize| {
        let mark = world.endpoint.request_count();
        world.endpoint.inject(Fault::Refused(412), Batch, "feed", refused);
        world.deliver("HomeFeed", &items).await.unwrap();
        let requests = world.endpoint.requests_since(mark);
        let feed = requests.iter().filter(|one| one.container == "feed" && one.kind == Batch);
        feed.count()
    };
    // 40 changes; then 24 and 16; then 12, 12, 12 and 4.
    assert_eq!(batches(3).await, 3 + 4);
    assert!(world.items("dead-letters").await.is_empty());
    assert_eq!(world.list("/api/feed").await.len(), 40);
    assert_eq!(batches(0).await, 0, "delivered again it writes nothing");
}
