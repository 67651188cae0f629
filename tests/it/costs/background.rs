//! The cost of a change in the background, in store requests, held against the table in
//! `docs/costs.md`.

use std::{fmt::Write, time::Duration};

use serde_json::Value;
use tributary_functions::{
    app::AppOptions,
    projection::{EagerOptions, ProjectionOptions},
};
use tributary_testing::budget::{hold_table, is_caused_by_a_change, kind};

use crate::budgets::path;
use crate::{blog as given, world::World};

async fn row(world: &World, what: &str, function: &str, changes: &[Value]) -> String {
    let requests_before = world.endpoint.request_count();
    world.deliver(function, changes).await.unwrap();
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut requests = world.endpoint.requests_since(requests_before);
    requests.retain(is_caused_by_a_change);
    for request in &requests {
        let what = kind(request);
        match kinds.iter_mut().find(|(known, _)| *known == what) {
            Some((_, n)) => *n += 1,
            None => kinds.push((what, 1)),
        }
    }
    let times = |(kind, n): (String, usize)| if n == 1 { kind } else { format!("{n} × {kind}") };
    let kinds: Vec<_> = kinds.into_iter().map(times).collect();
    format!("| {what} | `{function}` | {} | {} |\n", requests.len(), kinds.join(", "))
}

async fn posts(world: &World, is_wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut items = world.items("posts").await;
    items.retain(|item| is_wanted(item["id"].as_str().unwrap()));
    items
}

#[tokio::test]
async fn the_table_of_background_requests_is_measured() {
    let eager = given::blog().await;
    // What the change feed has to do where nothing was applied eagerly.
    let projections = ProjectionOptions {
        eager: EagerOptions { time: Duration::ZERO, ..EagerOptions::default() },
        ..ProjectionOptions::default()
    };
    let world = eager.with_app(AppOptions { projections, ..World::options() }).await;
    let everywhere = ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];
    let mut table = String::from(
        "| change | projection | store requests | which |\n| --- | --- | ---: | --- |\n",
    );
    let mut add = |row: String| write!(table, "{row}").unwrap();
    // The containers are known, and the feed has a head.
    for n in 0..99 {
        given::post(&world, &format!("q{n}"), "ann").await.expect(201);
    }
    world.settle().await;

    given::post(&world, "new", "ann").await.expect(201);
    let new = posts(&world, |id| id == "new").await;
    for function in everywhere {
        add(row(&world, "a post is created", function, &new).await);
    }
    given::post(&eager, "eager", "ann").await.expect(201);
    let applied = posts(&world, |id| id == "eager").await;
    add(row(&eager, "the same, applied eagerly before", "PostCopiesInUsers", &applied).await);
    given::like(&world, "new", "bob").await.expect(201);
    let liked = posts(&world, |id| id == "new").await;
    for function in everywhere {
        add(row(&world, "a post is edited, liked or commented on", function, &liked).await);
    }
    // The feed has 100 of the 101 posts.
    given::like(&world, "p1", "bob").await.expect(201);
    let old = posts(&world, |id| id == "p1").await;
    add(row(&world, "the same, too old for the feed", "HomeFeed", &old).await);
    let like = posts(&world, |id| id.starts_with("like")).await;
    add(row(&world, "a comment or like is created", "PostsIntegrity", &like[..1]).await);

    for n in 0..49 {
        given::post(&world, &format!("many{n}"), "ann").await.expect(201);
    }
    let many = posts(&world, |id| id.starts_with("many")).await;
    add(row(&world, "49 posts are created, in one batch", "HomeFeed", &many).await);
    world.settle().await;

    for id in ["p1", "new"] {
        world.delete(&format!("/api/posts/{id}")).await.expect(204);
    }
    let changes = posts(&world, |id| id == "p1").await;
    for function in everywhere {
        add(row(&world, "a post is deleted, with a like", function, &changes).await);
    }
    let changes = posts(&world, |id| id == "new").await;
    add(row(&world, "a post of the full feed is deleted", "HomeFeed", &changes).await);

    for n in 0..99 {
        given::like(&world, &format!("q{n}"), "bob").await.expect(201);
    }
    for n in 0..49 {
        given::like(&world, &format!("many{n}"), "bob").await.expect(201);
    }
    world.settle().await;
    given::user(&world, "bob", "Bobby").await.expect(200);
    let mut users = world.items("users").await;
    users.retain(|item| item["type"] == "user" && item["userId"] == "bob");
    add(row(&world, "a user with 148 items is renamed", "UsernamesInPosts", &users).await);

    hold_table(path("docs/costs.md"), &table);
}
