use serde_json::json;

use super::given::{self, set_password, verify};
use crate::{expect::problem, world::World};

const RIGHT: &str = "correct horse battery";
const WRONG: &str = "correct horse bathroom";

#[tokio::test]
async fn a_wrong_password_a_missing_one_and_a_missing_customer_have_one_answer_at_one_price() {
    let world = given::shop().await;
    set_password(&world, "ann", RIGHT).await.expect(204);
    let mut answers = Vec::new();
    for id in ["ann", "bob", "eve"] {
        let requests_before = world.endpoint.request_count();
        let path = format!("/api/customers/{id}/password/verify");
        let answer = world.post(&path, json!({"password": WRONG})).await;
        let problem = problem(&answer, 401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        answers.push((problem, world.endpoint.requests_since(requests_before).len()));
    }
    assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]));
    assert_eq!(answers[0].1, 1, "one store request");
}

#[tokio::test]
async fn a_replaced_password_is_invalid_at_once_at_every_instance() {
    let world = given::shop().await;
    set_password(&world, "ann", WRONG).await.expect(204);
    let other: World = world.second_instance().await;
    assert_eq!(verify(&other, "ann", WRONG).await, 204);
    let _frozen = world.stale_reads("customer");
    set_password(&world, "ann", RIGHT).await.expect(204);
    assert_eq!(
        [verify(&other, "ann", WRONG).await, verify(&other, "ann", RIGHT).await],
        [401, 204]
    );
}
