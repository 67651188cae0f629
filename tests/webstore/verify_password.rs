use serde_json::{Value, json};

use super::given::{self, set_password, verify};
use crate::{expect::problem, handler, world::World};

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

/// A hash is nearly all of the time that a request takes. So a handler that makes one hash in each
/// case does not reveal by the time that a password exists.
#[tokio::test]
async fn each_verification_takes_one_hash() {
    let world = given::shop().await;
    set_password(&world, "ann", RIGHT).await.expect(204);
    let mut handler = handler::start(&world, &[("RUST_LOG", "debug")]).await;
    let cases =
        [("ann", RIGHT, 204), ("ann", WRONG, 401), ("bob", WRONG, 401), ("eve", WRONG, 401)];
    for (n, (id, password, status)) in cases.into_iter().enumerate() {
        let path = format!("/api/customers/{id}/password/verify");
        let invocation = n.to_string();
        let headers = [
            ("content-type", "application/json"),
            ("x-azure-functions-invocationid", invocation.as_str()),
        ];
        let body = json!({"password": password}).to_string();
        assert_eq!(handler.send("POST", &path, &headers, body).await.status, status, "{id}");
    }
    handler.terminate().await;
    let lines = handler.output();
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let hashes = lines.filter(|line| line["message"] == "Hashed a password");
    let mut invocations: Vec<Value> = hashes.map(|line| line["invocation.id"].clone()).collect();
    invocations.sort_by_key(ToString::to_string);
    assert_eq!(invocations, ["0", "1", "2", "3"]);
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
