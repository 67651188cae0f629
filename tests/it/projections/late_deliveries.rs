//! Deliveries that come late, twice, in any order, to two instances.

use std::time::{Duration, SystemTime};

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use crate::{blog as given, world::World};

const POSTS: u8 = 6;
const USERS: u8 = 3;
const TRIGGERS: [&str; 4] = ["UsernamesInPosts", "PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];

#[derive(Debug, Clone)]
enum Step {
    Put {
        post: u8,
        title: u8,
    },
    Comment {
        post: u8,
        user: u8,
    },
    Like {
        post: u8,
        user: u8,
    },
    Unlike {
        post: u8,
        user: u8,
    },
    Delete {
        post: u8,
    },
    Rename {
        user: u8,
    },
    /// A delivery of some of all former versions to a trigger of an instance.
    Deliver {
        trigger: usize,
        versions: Vec<prop::sample::Index>,
        second: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..POSTS, any::<u8>()).prop_map(|(post, title)| Step::Put { post, title }),
        3 => (0..POSTS, 0..USERS).prop_map(|(post, user)| Step::Comment { post, user }),
        2 => (0..POSTS, 0..USERS).prop_map(|(post, user)| Step::Like { post, user }),
        1 => (0..POSTS, 0..USERS).prop_map(|(post, user)| Step::Unlike { post, user }),
        1 => (0..POSTS).prop_map(|post| Step::Delete { post }),
        1 => (0..USERS).prop_map(|user| Step::Rename { user }),
        5 => (0..TRIGGERS.len(), vec(any::<prop::sample::Index>(), 1..6), any::<bool>())
            .prop_map(|(trigger, versions, second)| Step::Deliver { trigger, versions, second }),
    ]
}

/// Every version of every item that a trigger could be given.
#[derive(Default)]
struct History {
    users: Vec<Value>,
    posts: Vec<Value>,
}

impl History {
    async fn record(&mut self, world: &World) {
        for (container, known) in [("users", &mut self.users), ("posts", &mut self.posts)] {
            for item in world.items(container).await {
                if !known.iter().any(|version| version["_etag"] == item["_etag"]) {
                    known.push(item);
                }
            }
        }
    }
}

async fn take(world: &World, second: &World, step: Step, history: &History, n: usize) {
    match step {
        Step::Put { post, title } => {
            let body = json!({"userId": format!("u{}", post % USERS), "title": title.to_string(), "content": "C"});
            world.put(&format!("/api/posts/p{post}"), body).await;
        }
        Step::Comment { post, user } => {
            let body = json!({"userId": format!("u{user}"), "content": "Well."});
            world.post(&format!("/api/posts/p{post}/comments"), body).await;
        }
        Step::Like { post, user } => {
            second.put(&format!("/api/posts/p{post}/likes/u{user}"), Value::Null).await;
        }
        Step::Unlike { post, user } => {
            world.delete(&format!("/api/posts/p{post}/likes/u{user}")).await;
        }
        Step::Delete { post } => {
            world.delete(&format!("/api/posts/p{post}")).await;
        }
        Step::Rename { user } => {
            let body = json!({"username": format!("user {user} after {n}")});
            world.put(&format!("/api/users/u{user}"), body).await.expect(200);
        }
        Step::Deliver { trigger, versions, second: elsewhere } => {
            let source = if trigger == 0 { &history.users } else { &history.posts };
            if source.is_empty() {
                return;
            }
            let batch: Vec<Value> = versions.iter().map(|v| v.get(source).clone()).collect();
            let instance = if elsewhere { second } else { world };
            instance.deliver(TRIGGERS[trigger], &batch).await.unwrap();
        }
    }
}

/// Checks that readers see the state of the sources.
async fn everything_is_true(world: &World) {
    let users = world.items("users").await;
    let posts = world.items("posts").await;
    let name_of = |user: &Value| {
        let user = users.iter().find(|item| item["type"] == "user" && item["id"] == *user);
        user.unwrap()["username"].clone()
    };
    let mut live: Vec<&Value> = posts.iter().filter(|item| item["type"] == "post").collect();
    live.sort_by_key(|post| (post["creationDate"].to_string(), post["id"].to_string()));
    live.reverse();

    let mut expected = Vec::new();
    for post in &live {
        let path = format!("/api/posts/{}", post["id"].as_str().unwrap());
        let shown = world.get(&path).await.expect(200).json();
        let comments = world.list(&format!("{path}/comments")).await;
        let likes = world.list(&format!("{path}/likes")).await;
        assert_eq!(shown["commentCount"], comments.len());
        assert_eq!(shown["likeCount"], likes.len());
        for item in comments.iter().chain(&likes).chain([&shown]) {
            assert_eq!(item["userUsername"], name_of(&item["userId"]), "{item}");
        }
        expected.push(shown);
    }
    for item in posts.iter().filter(|item| item["type"] == "comment" || item["type"] == "like") {
        assert!(live.iter().any(|post| post["id"] == item["postId"]), "an orphan: {item}");
    }
    assert_eq!(world.get("/api/feed").await.expect(200).json()["items"], json!(expected));
    for user in 0..USERS {
        let id = format!("u{user}");
        let own: Vec<_> = expected.iter().filter(|post| post["userId"] == *id).cloned().collect();
        assert_eq!(world.list(&format!("/api/users/{id}/posts")).await, own);
    }
    assert!(world.items("dead-letters").await.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn copies_end_right_under_any_order_and_number_of_deliveries(
        steps in vec(step(), 1..60), partitions in 1u32..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::with_partitions(partitions).await;
            let second = world.second_instance().await;
            for user in 0..USERS {
                let body = json!({"username": format!("user {user}")});
                world.put(&format!("/api/users/u{user}"), body).await.expect(201);
            }
            let mut history = History::default();
            for (n, step) in steps.into_iter().enumerate() {
                take(&world, &second, step, &history, n).await;
                history.record(&world).await;
            }
            world.settle().await;
            everything_is_true(&world).await;

            // All former versions are delivered once more, from the last to the first.
            for (trigger, source) in [(0, &history.users), (1, &history.posts), (2, &history.posts), (3, &history.posts)] {
                for version in source.iter().rev() {
                    second.deliver(TRIGGERS[trigger], std::slice::from_ref(version)).await.unwrap();
                }
            }
            world.settle().await;
            everything_is_true(&world).await;
        });
    }
}

#[tokio::test]
async fn a_deleted_post_does_not_come_back_for_thirty_days() {
    const DAY: Duration = Duration::from_hours(24);
    let world = given::blog().await;
    let older = world.item("posts", "p1").await;
    world.settle().await;
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;
    world.endpoint.expire_items(SystemTime::now() + 29 * DAY).await;
    for function in ["PostCopiesInUsers", "HomeFeed"] {
        world.deliver(function, std::slice::from_ref(&older)).await.unwrap();
    }
    assert!(world.list("/api/users/ann/posts").await.is_empty());
    assert!(world.list("/api/feed").await.is_empty());

    let expired = world.endpoint.expire_items(SystemTime::now() + 31 * DAY).await;
    assert_eq!(expired, 3, "no tombstone stays");
}
