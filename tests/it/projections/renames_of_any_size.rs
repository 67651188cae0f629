//! Renames that take longer than one delivery, are interrupted, or must leave room to readers.

use std::{
    fs,
    num::NonZeroU32,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::Value;
use tributary::blog::projections::{PostsIntegrity, UsernamesInPosts};
use tributary_functions::{
    app::AppOptions,
    cosmos::metered,
    projection::{BackgroundOptions, Projection, RETRY_BUDGET},
};
use tributary_local::cosmos::RequestKind;

use tributary_testing::budget::is_caused_by_a_change;

use crate::{blog as given, world::World};

async fn with_rename(world: &World, background: BackgroundOptions) -> World {
    world.with_app(AppOptions { background, ..World::options() }).await
}

async fn user_with_items(world: &World, id: &str, items: usize) {
    given::user(world, id, id).await.expect(201);
    given::post(world, id, id).await.expect(201);
    for _ in 1..items {
        given::comment(world, id, id, "Well.").await.expect(201);
    }
}

async fn rename(world: &World, id: &str) {
    given::user(world, id, &format!("{id}, renamed")).await.expect(200);
}

async fn names(world: &World, id: &str) -> (usize, usize) {
    let items = world.items("posts").await;
    let of_user = items.iter().filter(|item| item["userId"] == id);
    let (new, old): (Vec<_>, Vec<_>) = of_user.partition(|item| item["usernameVersion"] == 2);
    let renamed = format!("{id}, renamed");
    assert!(new.iter().all(|item| item["userUsername"] == renamed.as_str()));
    (new.len(), old.len())
}

async fn of_type(world: &World, name: &str) -> Vec<Value> {
    let items = world.items("users").await;
    items.into_iter().filter(|item| item["type"] == name).collect()
}

/// Returns the number of replacements sent to `posts` since a number of requests.
fn replaces(world: &World, requests_before: usize) -> usize {
    let requests = world.endpoint.requests_since(requests_before);
    let is_replace = |kind, container: &str| kind == RequestKind::Replace && container == "posts";
    requests.iter().filter(|request| is_replace(request.kind, &request.container)).count()
}

#[tokio::test]
async fn a_long_rename_continues_after_the_changes_made_meanwhile() {
    let world = World::with_partitions(2).await;
    user_with_items(&world, "ann", 12).await;
    user_with_items(&world, "bob", 1).await;
    world.settle().await;
    rename(&world, "ann").await;
    rename(&world, "bob").await;
    let before = world.endpoint.request_count();

    // No time at all is enough for one item.
    let no_time = BackgroundOptions { slice: Duration::ZERO, ..World::options().background };
    let hasty = with_rename(&world, no_time).await;
    hasty.deliver("UsernamesInPosts", &of_type(&world, "user").await).await.unwrap();
    assert_eq!(names(&world, "bob").await, (1, 0));
    let (new, old) = names(&world, "ann").await;
    assert!(new > 0 && old > 0, "{new} renamed, {old} not");
    let mut continuations_of_ann = of_type(&world, "markOfRename").await;
    continuations_of_ann.retain(|item| item["userId"] == "ann");
    assert_eq!(continuations_of_ann[0]["version"], 2);

    // The continuation alone continues the rename, and ends.
    hasty.deliver("UsernamesInPosts", &continuations_of_ann).await.unwrap();
    assert!(names(&world, "ann").await.0 > new);
    world.deliver("UsernamesInPosts", &continuations_of_ann).await.unwrap();
    assert_eq!(names(&world, "ann").await, (12, 0));
    assert_eq!(replaces(&world, before), 13);
    let written = of_type(&world, "markOfRename").await;
    hasty.deliver("UsernamesInPosts", &continuations_of_ann).await.unwrap();
    assert_eq!(of_type(&world, "markOfRename").await, written);
}

#[tokio::test]
async fn a_rename_keeps_its_budget_and_has_low_priority() {
    let world = World::new().await;
    let requests_before = world.endpoint.request_count();
    user_with_items(&world, "ann", 60).await;
    rename(&world, "ann").await;
    let request_units_per_second = NonZeroU32::new(1_500);
    let rename = BackgroundOptions { request_units_per_second, ..BackgroundOptions::default() };
    let paced = with_rename(&world, rename).await;
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.iter().all(|request| !request.low_priority), "a command is not");
    let users = of_type(&world, "user").await;
    let requests_before = world.endpoint.request_count();
    let begin = Instant::now();
    let (delivered, meter) = metered(paced.deliver("UsernamesInPosts", &users)).await;
    delivered.unwrap();
    let seconds = begin.elapsed().as_secs_f64();
    let mut requests = world.endpoint.requests_since(requests_before);
    requests.retain(is_caused_by_a_change);
    assert!(requests.len() > 60 && requests.iter().all(|request| request.low_priority));
    assert_eq!(names(&world, "ann").await, (60, 0));
    // The last writes, eight at a time, are not waited for.
    let spent = meter.request_units();
    let waited_for = spent * (60.0 - 8.0) / 60.0 - 10.0;
    assert!(waited_for > 100.0, "{spent} RU");
    assert!(seconds >= waited_for / 1_500.0, "{spent} RU in {seconds} s");
}

#[test]
fn a_batch_of_long_renames_or_removals_ends_before_the_host_kills_the_process() {
    let read = |path: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let host = read("host.json");
    let [hours, minutes, seconds] = host["functionTimeout"]
        .as_str()
        .unwrap()
        .split(':')
        .map(|part| part.parse::<u64>().unwrap())
        .collect::<Vec<_>>()[..]
    else {
        panic!("{host}");
    };
    let timeout = Duration::from_secs((hours * 60 + minutes) * 60 + seconds);
    let slice = BackgroundOptions::default().slice;
    for (function, concurrency) in [
        (UsernamesInPosts::FUNCTION, UsernamesInPosts::CONCURRENCY),
        (PostsIntegrity::FUNCTION, PostsIntegrity::CONCURRENCY),
    ] {
        let file = read(&format!("functions/{function}/function.json"));
        let changes = file["bindings"][0]["maxItemsPerInvocation"].as_u64().unwrap();
        let slices = changes.div_ceil(concurrency as u64);
        let longest = slice * u32::try_from(slices).unwrap() + RETRY_BUDGET;
        assert!(longest < timeout * 3 / 4, "{function}: {longest:?} of {timeout:?}");
    }
}
