//! The cost of an audit, held against `docs/audit.md`.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use tributary_testing::budget::kind;

use super::audit_within;
use crate::{
    blog::{comment, like, post, user},
    world::World,
};

const USERS: usize = 10;
const POSTS: usize = 30;
const COMMENTS: usize = 8;

const MAX_STORE_REQUESTS: u64 = 150;

async fn blog() -> World {
    let world = World::new().await;
    for n in 0..USERS {
        user(&world, &format!("u{n}"), &format!("User {n}")).await.expect(201);
    }
    for n in 0..POSTS {
        let id = format!("p{n}");
        post(&world, &id, &format!("u{}", n % USERS)).await.expect(201);
        for m in 0..COMMENTS {
            comment(&world, &id, &format!("u{m}"), "Well.").await.expect(201);
        }
        like(&world, &id, "u0").await.expect(201);
    }
    world.settle().await;
    world
}

#[tokio::test]
async fn the_cost_of_an_audit_is_as_documented() {
    let world = blog().await;
    let requests_before = world.endpoint.request_count();
    let (findings, summary) = audit_within(&world, Duration::ZERO, false).await;
    assert_eq!(findings, []);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for request in world.endpoint.requests_since(requests_before) {
        *kinds.entry(kind(&request)).or_default() += 1;
    }
    let rows = format!("{kinds:?}");
    println!(
        "{rows}; all, for {:.0} request units: {}",
        summary.request_units, summary.store_requests
    );
    // Two checks at once may each read the same user or post, so the number varies a little.
    assert!(summary.store_requests <= MAX_STORE_REQUESTS, "{rows}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/audit.md");
    let docs = fs::read_to_string(docs).unwrap();
    let said = format!(
        "{} items ({USERS} users, {POSTS} posts, {} comments, {POSTS} likes) cost at most {MAX_STORE_REQUESTS} store requests",
        summary.items,
        POSTS * COMMENTS,
    );
    assert!(docs.contains(&said), "docs/audit.md should say: {said}");
}
