//! Requests whose budget is spent.

use std::time::Duration;

use serde_json::json;
use tributary_functions::cosmos::Limits;
use tributary_testing::checks::{RepeatableCommand, budget_spent_anywhere};

use crate::given;

#[tokio::test]
async fn a_command_that_reaches_its_budget_anywhere_is_a_503_and_can_be_repeated() {
    let room = json!({"personId": "ann", "title": "New"});
    for path in ["/api/rooms/r1", "/api/rooms/r2"] {
        let command =
            RepeatableCommand { method: "PUT", path, body: Some(room.clone()), result: path };
        budget_spent_anywhere(given::rooms, &command, &["creationDate"]).await;
    }
}

#[tokio::test]
async fn a_request_whose_time_or_request_units_are_spent_sends_no_further_store_request() {
    let world = given::rooms().await;
    let spent = [
        Limits { time: Duration::ZERO, ..Limits::REQUEST },
        Limits { request_units: 0, ..Limits::REQUEST },
    ];
    for limits in spent {
        let limited = world.with_limits(limits).await;
        world.endpoint.take_requests();
        limited.get("/api/rooms/r1").await.expect(503);
        assert_eq!(world.endpoint.take_requests().len(), 0);
    }
}
