//! Renames that must leave room to readers, and end in time.

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
use tributary_testing::budget::is_caused_by_a_change;

use crate::{blog as given, world::World};

#[tokio::test]
async fn a_rename_keeps_its_budget_and_has_low_priority() {
    let world = World::new().await;
    let requests_before = world.endpoint.request_count();
    given::user(&world, "ann", "Ann").await.expect(201);
    given::post(&world, "p1", "ann").await.expect(201);
    for _ in 1..60 {
        given::comment(&world, "p1", "ann", "Well.").await.expect(201);
    }
    given::user(&world, "ann", "Anna").await.expect(200);
    let request_units_per_second = NonZeroU32::new(1_500);
    let background = BackgroundOptions { request_units_per_second, ..BackgroundOptions::default() };
    let paced = world.with_app(AppOptions { background, ..World::options() }).await;
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.iter().all(|request| !request.low_priority), "a command is not");
    let ann = world.item("users", "ann").await;
    let requests_before = world.endpoint.request_count();
    let begin = Instant::now();
    let (delivered, meter) = metered(paced.deliver("UsernamesInPosts", &[ann])).await;
    delivered.unwrap();
    let seconds = begin.elapsed().as_secs_f64();
    let mut requests = world.endpoint.requests_since(requests_before);
    requests.retain(is_caused_by_a_change);
    assert!(requests.len() > 60 && requests.iter().all(|request| request.low_priority));
    let posts = world.items("posts").await;
    assert!(posts.iter().all(|item| item["userUsername"] == "Anna"), "{posts:?}");
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
