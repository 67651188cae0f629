//! Requests that no function of the app takes.

use tributary_testing::checks;

use crate::world::World;

#[tokio::test]
async fn no_function_takes_a_bad_request_or_asks_the_store_about_one() {
    checks::bad_requests_are_refused(&World::new().await).await;
}
