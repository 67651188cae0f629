//! Requests that no function takes, and requests that look like those.

use tributary_testing::checks;

use crate::{World, given};

#[tokio::test]
async fn every_function_refuses_bad_requests_without_a_store_request() {
    checks::bad_requests_are_refused(&World::new().await).await;
}

#[tokio::test]
async fn parameters_that_differ_are_taken() {
    let world = given::rooms().await;
    for query in ["", "?", "?&&", "?limit=1&code=a&limits=2&x", "?limit=%31"] {
        world.get(&format!("/api/newest-rooms{query}")).await.expect(200);
    }
}
