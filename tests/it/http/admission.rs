//! Logins at an instance that works on as many requests as it can: a hash takes a processor for longer
//! than anything else.

use std::time::Duration;

use futures::{future::join_all, join};
use serde_json::json;
use tributary_functions::{app::AppOptions, http::AdmissionOptions};

use crate::expect::{free_of_charge, problem};
use crate::{blog as given, webstore, world::World};

const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(10);

async fn world_with(requests: u16, wait: Duration) -> World {
    let admission = AdmissionOptions { requests, memory_mib: 32, wait };
    given::blog().await.with_app(AppOptions { admission, ..World::options() }).await
}

#[tokio::test]
async fn reads_are_served_while_passwords_wait_for_their_hashes() {
    let world = world_with(4, SOON).await;
    let login = || webstore::verify(&world, "eve", "not her password");
    let reads = async {
        for _ in 0..20 {
            world.get("/api/users/ann").await.expect(200);
        }
    };
    let (statuses, ()) = join!(join_all((0..12).map(|_| login())), reads);
    assert!(statuses.iter().all(|status| [401, 503].contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn a_login_over_the_limit_is_a_503_at_once_without_a_store_request() {
    let world = world_with(128, LATE).await;
    let path = "/api/customers/eve/password/verify";
    let login = || world.post(path, json!({"password": "not her password"}));
    let answers = join_all((0..80).map(|_| login())).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 401).collect();
    // 32 requests wait, and two are worked on.
    assert!(refused.len() >= 80 - 34, "{}", refused.len());
    for answer in refused {
        let problem = problem(answer, 503);
        assert_eq!(problem["type"], "urn:tributary:problem:overloaded");
        assert_eq!(answer.header("retry-after"), "1");
        free_of_charge(answer);
    }
}
