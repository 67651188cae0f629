use serde_json::{Value, json};
use tributary_local::cosmos::{Fault, RequestKind};

use super::given;
use tributary_testing::interleavings::{amid, held};

use crate::{
    expect::{bad_fields, created, date, problem},
    world::World,
};

#[tokio::test]
async fn a_customer_is_created_then_edited() {
    let world = World::new().await;
    let answer = given::customer(&world, "ann").await;
    let customer = created(&world, &answer, "/api/customers/ann").await;
    insta::assert_json_snapshot!(customer, {".creationDate" => date()}, @r#"
    {
      "addresses": [
        {
          "addressLine1": "1 Main Street",
          "addressLine2": null,
          "city": "Redmond",
          "country": "USA",
          "state": "WA",
          "zipCode": "98052"
        }
      ],
      "creationDate": "[date]",
      "customerId": "ann",
      "emailAddress": "ann@example.com",
      "firstName": "ann",
      "id": "ann",
      "lastName": "Lee",
      "phoneNumber": "555-0100",
      "salesOrderCount": 0,
      "title": "Dr."
    }
    "#);

    let mut other = json!({"firstName": "Ann", "lastName": "Li", "emailAddress": "a@b",
        "addresses": [], "salesOrderCount": 9, "password": "not here", "id": "eve"});
    let edited = world.put("/api/customers/ann", other.clone()).await.expect(200);
    let there = world.get("/api/customers/ann").await.expect(200);
    assert_eq!((edited.json(), edited.header("etag")), (there.json(), there.header("etag")));
    assert_eq!(edited.json()["creationDate"], customer["creationDate"]);
    insta::assert_json_snapshot!(edited.json(), {".creationDate" => date()}, @r#"
    {
      "addresses": [],
      "creationDate": "[date]",
      "customerId": "ann",
      "emailAddress": "a@b",
      "firstName": "Ann",
      "id": "ann",
      "lastName": "Li",
      "phoneNumber": null,
      "salesOrderCount": 0,
      "title": null
    }
    "#);

    // The same again writes nothing.
    let requests_before = world.endpoint.request_count();
    other["title"] = Value::Null;
    let again = world.put("/api/customers/ann", other).await.expect(200);
    assert_eq!(again.header("etag"), there.header("etag"));
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.iter().all(|request| request.kind == RequestKind::Read), "{requests:?}");
}

#[tokio::test]
async fn all_bad_fields_are_named_at_once() {
    let world = World::new().await;
    let long = "x".repeat(201);
    let bad = json!({"title": "", "firstName": 5, "emailAddress": "a@b@c",
        "phoneNumber": "5".repeat(41), "addresses": [given::details("ann")["addresses"][0],
            {"addressLine1": long, "addressLine2": "", "city": null, "state": "WA"}, "home"]});
    let answer = world.put("/api/customers/ann", bad).await;
    assert_eq!(
        bad_fields(&answer),
        [
            "addresses[1].addressLine1",
            "addresses[1].addressLine2",
            "addresses[1].city",
            "addresses[1].country",
            "addresses[1].zipCode",
            "addresses[2]",
            "emailAddress",
            "firstName",
            "lastName",
            "phoneNumber",
            "title"
        ]
    );
    let mut many = given::details("ann");
    many["addresses"] = vec![many["addresses"][0].clone(); 11].into();
    assert_eq!(bad_fields(&world.put("/api/customers/ann", many).await), ["addresses"]);
    assert_eq!(bad_fields(&given::customer(&world, "-").await), ["customerId"]);
    problem(&world.get("/api/customers/ann").await, 404);
}

#[tokio::test]
async fn an_order_that_comes_before_a_lost_answer_is_noticed_leaves_the_customer_created() {
    let world = given::shop().await;
    let other = world.second_instance().await;
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Create, "customer", 1);
    let customer_read = (&world, RequestKind::Read, "customer");
    let (first_read, put) = held(customer_read, given::customer(&world, "eve")).await;
    let put = async {
        first_read.release();
        put.await
    };
    let second_read = amid(customer_read, put, async {
        given::order(&other, "eve").await.expect(201);
    });
    let answer = second_read.await.expect(201);
    assert_eq!(answer.header("location"), "/api/customers/eve");
    assert_eq!(given::counts(&world, "eve").await, (1, 1));
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
async fn a_customer_cannot_be_deleted() {
    let world = given::shop().await;
    let answer = world.delete("/api/customers/ann").await;
    problem(&answer, 405);
    assert_eq!(answer.header("allow"), "PUT,GET,HEAD");
}
