//! The OpenAPI document of the rooms.

use serde_json::{Value, json};
use tributary_testing::checks::openapi::OpenApiDocument;

use crate::Rooms;

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
