//! `GET /beds/{bedId}/seeds/{seedId}`.

use serde_json::json;
use tributary_testing::budget::budget;

use crate::World;

#[tokio::test]
async fn the_answer_has_the_ids_of_the_path_and_costs_its_budget() {
    let world = World::new().await;
    let request = ("GET", "/api/beds/a1/seeds/a1", None);
    let answer = budget(&world, request, "0 requests, 0.00 RU: ").await.json();
    assert_eq!(answer, json!({"bedId": "a1", "seedId": "a1"}));
}
