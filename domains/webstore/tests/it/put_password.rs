use serde_json::json;
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_testing::checks;

use super::given::{self, set_password, verify};
use crate::{
    expect::{bad_fields, problem},
    world::TestApp,
};

const FIRST_PASSWORD: &str = "correct horse battery";
const SECOND_PASSWORD: &str = "staple correct horse";

#[tokio::test]
async fn a_password_is_set_and_changed() {
    let world = given::shop().await;
    let answer = set_password(&world, "ann", FIRST_PASSWORD).await.expect(204);
    assert_eq!(answer.text, "");
    assert_eq!(
        [verify(&world, "ann", FIRST_PASSWORD).await, verify(&world, "ann", SECOND_PASSWORD).await],
        [204, 401]
    );
    set_password(&world, "ann", SECOND_PASSWORD).await.expect(204);
    assert_eq!(
        [verify(&world, "ann", FIRST_PASSWORD).await, verify(&world, "ann", SECOND_PASSWORD).await],
        [401, 204]
    );
    // An edit and an order keep the password.
    world.put("/api/customers/ann", given::details("Anna")).await.expect(200);
    given::order(&world, "ann").await.expect(201);
    assert_eq!(verify(&world, "ann", SECOND_PASSWORD).await, 204);
}

#[tokio::test]
async fn a_hash_with_its_salt_is_embedded_in_the_customer() {
    let world = given::shop().await;
    for id in ["ann", "bob"] {
        set_password(&world, id, FIRST_PASSWORD).await.expect(204);
    }
    let items = world.items("customer").await;
    let hashes: Vec<_> = items.iter().map(|item| &item["password"]).collect();
    assert!(
        hashes.iter().all(|one| one["scheme"] == "argon2id$v=19$m=47104,t=1,p=1"),
        "{hashes:?}"
    );
    assert_ne!(hashes[0]["salt"], hashes[1]["salt"]);
    assert_ne!(hashes[0]["hash"], hashes[1]["hash"]);
    assert!(!items.iter().any(|item| item.to_string().contains(FIRST_PASSWORD)));
}

#[tokio::test]
async fn a_password_has_12_to_128_characters_and_a_customer() {
    let world = given::shop().await;
    for bad in [
        json!({}),
        json!({"password": "x".repeat(11)}),
        json!({"password": 5}),
        json!({"password": "x".repeat(129)}),
    ] {
        for (method, path) in [("PUT", "password"), ("POST", "password/verify")] {
            let path = format!("/api/customers/ann/{path}");
            let answer = world.call(method, &path, &[], Some(bad.clone())).await;
            assert_eq!(bad_fields(&answer), ["password"]);
        }
    }
    problem(&set_password(&world, "eve", FIRST_PASSWORD).await, 404);
    let path = "/api/customers/eve/password";
    let body = Some(json!({"password": FIRST_PASSWORD}));
    problem(&world.call("PUT", path, &[("if-match", "*")], body).await, 412);
}

#[tokio::test]
async fn a_password_is_set_after_a_lost_answer() {
    let world = given::shop().await;
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Replace, "customer", 1);
    set_password(&world, "ann", FIRST_PASSWORD).await.expect(204);
    let etag = world.get("/api/customers/ann").await.header("etag").to_owned();
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Replace, "customer", 1);
    let headers = [("if-match", etag.as_str())];
    let body = json!({"password": SECOND_PASSWORD});
    world.call("PUT", "/api/customers/ann/password", &headers, Some(body)).await.expect(204);
    assert_eq!(verify(&world, "ann", SECOND_PASSWORD).await, 204);
}

#[tokio::test]
async fn no_answer_and_no_copy_has_a_password_or_its_hash() {
    checks::secrets_stay_inside::<TestApp>().await;
}
