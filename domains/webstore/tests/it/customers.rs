//! Customers and their passwords.

use serde_json::{Value, json};
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_testing::{checks, interleavings::amid};

use super::given::{self, set_password, verify};
use crate::{
    expect::{created, is_timestamp, problem},
    world::{TestApp, World},
};

#[tokio::test]
async fn a_customer_is_created_then_edited() {
    let world = World::new().await;
    let answer = given::customer(&world, "ann").await;
    let customer = created(&world, &answer, "/api/customers/ann").await;
    is_timestamp(&customer["creationDate"]);
    let address = json!({"addressLine1": "1 Main Street", "addressLine2": null, "city": "Redmond",
        "country": "USA", "state": "WA", "zipCode": "98052"});
    let expected = json!({"id": "ann", "customerId": "ann", "title": "Dr.", "firstName": "ann",
        "lastName": "Lee", "emailAddress": "ann@example.com", "phoneNumber": "555-0100",
        "addresses": [address], "salesOrderCount": 0, "creationDate": customer["creationDate"]});
    assert_eq!(customer, expected);

    let mut other = json!({"firstName": "Ann", "lastName": "Li", "emailAddress": "a@b",
        "addresses": [], "salesOrderCount": 9, "password": "not here", "id": "eve"});
    let edited = world.put("/api/customers/ann", other.clone()).await.expect(200);
    let there = world.get("/api/customers/ann").await.expect(200);
    assert_eq!((edited.json(), edited.header("etag")), (there.json(), there.header("etag")));
    let expected = json!({"id": "ann", "customerId": "ann", "title": null, "firstName": "Ann",
        "lastName": "Li", "emailAddress": "a@b", "phoneNumber": null, "addresses": [],
        "salesOrderCount": 0, "creationDate": customer["creationDate"]});
    assert_eq!(edited.json(), expected);

    // The same again writes nothing.
    let requests_before = world.endpoint.request_count();
    other["title"] = Value::Null;
    let again = world.put("/api/customers/ann", other).await.expect(200);
    assert_eq!(again.header("etag"), there.header("etag"));
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.iter().all(|request| request.kind == RequestKind::Read), "{requests:?}");
}

#[tokio::test]
async fn an_edit_keeps_the_order_and_the_password_that_come_meanwhile() {
    let world = given::shop().await;
    let other = world.second_instance().await;
    let edit = world.put("/api/customers/ann", given::details("Anna"));
    amid((&world, RequestKind::Replace, "customer"), edit, async {
        given::order(&other, "ann").await.expect(201);
        given::set_password(&other, "ann", "correct horse battery").await.expect(204);
    })
    .await
    .expect(200);
    assert_eq!(given::counts(&world, "ann").await, (1, 1));
    assert_eq!(world.get("/api/customers/ann").await.json()["firstName"], "Anna");
    assert_eq!(given::verify(&world, "ann", "correct horse battery").await, 204);
}

#[tokio::test]
async fn a_customer_is_read_without_its_orders_or_with_them() {
    let world = given::shop().await;
    let path = "/api/customers/ann";
    let none = world.get(&format!("{path}?include=orders")).await.expect(200).json();
    let customer = world.get(path).await.expect(200).json();
    assert_eq!(none, json!({"customer": customer, "orders": []}));

    let mut orders = Vec::new();
    for _ in 0..3 {
        orders.insert(0, given::order(&world, "ann").await.expect(201).json());
    }
    given::order(&world, "bob").await.expect(201);
    let with_orders = world.get(&format!("{path}?include=orders")).await.expect(200).json();
    let customer = world.get(path).await.expect(200).json();
    assert_eq!(customer["salesOrderCount"], 3);
    assert_eq!(with_orders, json!({"customer": customer, "orders": orders}));
}

#[tokio::test]
async fn at_most_the_100_newest_orders_are_included() {
    let world = given::shop().await;
    let mut ids = Vec::new();
    for _ in 0..102 {
        let order = given::order(&world, "ann").await.expect(201).json();
        ids.push(order["id"].clone());
    }
    let answer = world.get("/api/customers/ann?include=orders").await.expect(200).json();
    let orders = answer["orders"].as_array().unwrap();
    assert_eq!((orders.len(), &orders[0]["id"]), (100, ids.last().unwrap()));
    assert_eq!(answer["customer"]["salesOrderCount"], 102);
}

const FIRST_PASSWORD: &str = "correct horse battery";
const SECOND_PASSWORD: &str = "staple correct horse";

async fn both(world: &World) -> [u16; 2] {
    [verify(world, "ann", FIRST_PASSWORD).await, verify(world, "ann", SECOND_PASSWORD).await]
}

#[tokio::test]
async fn a_password_has_a_customer() {
    let world = given::shop().await;
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

#[tokio::test]
async fn a_wrong_password_a_missing_one_and_a_missing_customer_have_one_answer_at_one_price() {
    let world = given::shop().await;
    set_password(&world, "ann", FIRST_PASSWORD).await.expect(204);
    let mut answers = Vec::new();
    for id in ["ann", "bob", "eve"] {
        let requests_before = world.endpoint.request_count();
        let path = format!("/api/customers/{id}/password/verify");
        let answer = world.post(&path, json!({"password": SECOND_PASSWORD})).await;
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
    set_password(&world, "ann", SECOND_PASSWORD).await.expect(204);
    let other: World = world.second_instance().await;
    assert_eq!(verify(&other, "ann", SECOND_PASSWORD).await, 204);
    let _frozen = world.stale_reads("customer");
    set_password(&world, "ann", FIRST_PASSWORD).await.expect(204);
    assert_eq!(both(&other).await, [204, 401]);
}
