//! The OpenAPI document of the rooms.

use serde_json::{Value, json};
use tributary_testing::checks::openapi::OpenApiDocument;

use crate::{Rooms, World};

#[test]
fn the_document_says_what_each_function_takes_and_answers() {
    let document = OpenApiDocument::of::<Rooms>();
    document.has_every_function::<Rooms>();
    assert!(document.examples_fit() > 10);
}

#[tokio::test]
async fn the_app_serves_the_document_and_answers_304_to_a_caller_that_has_it() {
    let world = World::new().await;
    let served = world.get("/api/openapi.json").await.expect(200);
    assert_eq!(served.json(), *OpenApiDocument::of::<Rooms>().value());
    let known = [("if-none-match", served.header("etag"))];
    world.call("GET", "/api/openapi.json", &known, None).await.expect(304);
}

#[test]
fn an_answer_that_is_not_in_the_document_is_found() {
    let document = OpenApiDocument::of::<Rooms>();
    let schema = json!({"$ref": "#/components/schemas/Booking"});
    let booking = json!({"id": "b", "roomId": "r", "personId": "p", "purpose": "P",
        "creationDate": "2026-11-23T00:00:00.000Z"});
    assert_eq!(document.difference(&schema, &booking), None);
    for (field, value) in [("id", json!(5)), ("secret", json!("s")), ("roomId", Value::Null)] {
        let mut other = booking.clone();
        other[field] = value;
        assert!(document.difference(&schema, &other).is_some(), "{other}");
    }
    let page = json!({"$ref": "#/components/schemas/BookingPage"});
    let missing = document.difference(&page, &json!({"items": [booking]})).unwrap();
    assert!(missing.contains("nextCursor"), "{missing}");
}
