use std::time::{Duration, Instant};

use super::given::{self, set_password, verify};
use crate::{http::expect::problem, world::World};
use serde_json::json;

const RIGHT: &str = "correct horse battery";
const WRONG: &str = "correct horse bathroom";

#[tokio::test]
async fn a_wrong_password_none_and_no_customer_are_one_answer_for_one_price() {
    let world = given::shop().await;
    set_password(&world, "ann", RIGHT).await.expect(204);
    let mut answers = Vec::new();
    for id in ["ann", "bob", "eve"] {
        let mark = world.endpoint.request_count();
        let path = format!("/api/customers/{id}/password/verify");
        let answer = world.post(&path, json!({"password": WRONG})).await;
        let problem = problem(&answer, 401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        answers.push((problem, world.endpoint.requests_since(mark).len()));
    }
    assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]));
    assert_eq!(answers[0].1, 1, "one store request");
}

#[tokio::test]
async fn they_take_the_same_time() {
    let world = given::shop().await;
    set_password(&world, "ann", RIGHT).await.expect(204);
    let shortest = async |id: &str, password: &str| {
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let started = Instant::now();
            verify(&world, id, password).await;
            shortest = shortest.min(started.elapsed());
        }
        shortest.as_secs_f64()
    };
    let right = shortest("ann", RIGHT).await;
    for (id, password) in [("ann", WRONG), ("bob", WRONG), ("eve", WRONG)] {
        let wrong = shortest(id, password).await;
        // Without a hash it would be a hundredth.
        assert!((0.2..5.0).contains(&(wrong / right)), "{id}: {wrong} s, {right} s");
    }
}

#[tokio::test]
async fn an_old_password_ends_at_once_at_every_instance() {
    let world = given::shop().await;
    set_password(&world, "ann", WRONG).await.expect(204);
    let other: World = world.second_instance().await;
    assert_eq!(verify(&other, "ann", WRONG).await, 204);
    let _frozen = world.endpoint.freeze_replica("customer");
    set_password(&world, "ann", RIGHT).await.expect(204);
    assert_eq!(
        [verify(&other, "ann", WRONG).await, verify(&other, "ann", RIGHT).await],
        [401, 204]
    );
}
