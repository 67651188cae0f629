//! Logins at an instance that works on as many requests as it can: a hash takes a processor for longer
//! than anything else.

use std::time::Duration;

use futures::{future::join_all, join};
use tributary_functions::{app::AppOptions, http::AdmissionOptions};

use crate::{blog as given, webstore, world::World};

const SOON: Duration = Duration::from_millis(20);

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
