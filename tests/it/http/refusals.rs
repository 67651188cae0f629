//! Requests that no function of the app takes.

use tributary_testing::checks;

use crate::world::World;

#[tokio::test]
async fn each_bad_request_is_refused_without_a_store_request() {
    checks::bad_requests_are_refused(&World::new().await).await;
}
