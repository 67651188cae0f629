//! Renames that must leave room to readers, and end in time.

use std::{fs, path::Path, time::Duration};

use serde_json::Value;
use tributary::blog::projections::{PostsIntegrity, UsernamesInPosts};
use tributary_functions::projection::{BackgroundOptions, Projection, RETRY_BUDGET};
use tributary_testing::budget::is_caused_by_a_change;

use crate::blog as given;

#[tokio::test]
async fn a_rename_has_low_priority_and_a_command_has_not() {
    let world = given::blog().await;
    let n_before = world.endpoint.request_count();
    given::user(&world, "ann", "Anna").await.expect(200);
    let of_command = world.endpoint.requests_since(n_before);
    assert!(of_command.iter().all(|request| !request.low_priority));
    let ann = world.item("users", "ann").await;
    let n_before = world.endpoint.request_count();
    world.deliver("UsernamesInPosts", &[ann]).await.unwrap();
    let mut of_rename = world.endpoint.requests_since(n_before);
    of_rename.retain(is_caused_by_a_change);
    assert!(of_rename.len() > 1 && of_rename.iter().all(|request| request.low_priority));
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
