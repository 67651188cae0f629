//! The Cosmos DB trigger's batch in every encoding.

use custom_handler::Document;
use serde_json::{Value, json};

use crate::world::{TestApp, encoded};

/// Captured from the shape that the host gives to a batch: JSON in a string in a string.
const ENCODED_TWICE: &str = r#"{
    "Data": {
        "documents": "\"[{\\\"id\\\":\\\"p1\\\",\\\"title\\\":\\\"a \\\\\\\"b\\\\\\\"\\\",\\\"_lsn\\\":7}]\""
    },
    "Metadata": {
        "sys": {
            "MethodName": "Changes",
            "UtcNow": "2026-05-01T12:00:00.1234567Z",
            "RandGuid": "4b6a7b56-9d42-4d25-8c8b-3a3a4a1f7a10"
        }
    }
}"#;

#[tokio::test]
async fn documents_encoded_twice_are_read() {
    let reply = TestApp::echoing_documents().invoke("Changes", ENCODED_TWICE).await;
    assert_eq!(reply.output("raw"), json!([r#"{"id":"p1","title":"a \"b\"","_lsn":7}"#]));
}

#[tokio::test]
async fn every_encoding_gives_the_same_documents_in_order() {
    let app = TestApp::echoing_documents();
    let batch = r#"[{"id":"b"},{"id":"a"},{"id":"c"}]"#;
    let plain: Value = serde_json::from_str(batch).unwrap();
    let expected = json!([r#"{"id":"b"}"#, r#"{"id":"a"}"#, r#"{"id":"c"}"#]);
    for data in [plain, json!(batch), json!(encoded(batch))] {
        assert_eq!(app.changes(&data).await.output("raw"), expected, "{data}");
    }
}

#[tokio::test]
async fn escapes_and_unicode_survive_every_encoding() {
    let app = TestApp::echoing_documents();
    let text =
        "quote \" backslash \\ slash / newline \n tab \t nul \u{0} é 漢字 😀 \u{2028} \\u0041";
    let batch = json!([{"id": text}]).to_string();
    let escaped = r#"[{"id":"\ud83d\ude00 \u00e9 \/"}]"#;
    for data in [json!(batch), json!(encoded(&batch))] {
        let raw = app.changes(&data).await.output("raw");
        let document: Value = serde_json::from_str(raw[0].as_str().unwrap()).unwrap();
        assert_eq!(document["id"], text);
    }
    let raw = app.changes(&json!(encoded(escaped))).await.output("raw");
    let document: Value = serde_json::from_str(raw[0].as_str().unwrap()).unwrap();
    assert_eq!(document["id"], "😀 é /");
}

#[tokio::test]
async fn a_document_keeps_its_text_as_the_host_wrote_it() {
    let app = TestApp::echoing_documents();
    let document =
        r#"{"n":1E+20,"big":12345678901234567890123,"t":"2026-05-01T12:00:00.12Z","n":2}"#;
    let reply = app.changes(&json!(encoded(&format!("[ {document} ]")))).await;
    assert_eq!(reply.output("raw"), json!([document]));
}

#[tokio::test]
async fn a_document_that_is_no_object_reaches_the_handler_for_the_dead_letters() {
    let app = TestApp::echoing_documents();
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let lone_surrogate = r#""\ud800""#;
    let batch = format!(r#"[null, 7, "text", {lone_surrogate}, {deep}]"#);
    let reply = app.changes(&json!(encoded(&batch))).await;
    assert_eq!(reply.output("raw"), json!(["null", "7", r#""text""#, lone_surrogate, deep]));
}

#[tokio::test]
async fn data_that_is_no_array_fails_without_a_quotation() {
    let app = TestApp::echoing_documents();
    let secret = "se-cr-et";
    let thrice = encoded(&encoded(&encoded("[]")));
    for data in [
        json!(secret),
        json!(encoded(secret)),
        json!({ secret: secret }),
        json!([{ "id": secret }]).to_string().replace(']', "").into(),
        json!(4711),
        json!(null),
        json!(true),
        json!(""),
        json!("\"\""),
        json!("\"[\""),
        json!("[] []"),
        json!(thrice),
    ] {
        let reply = app.changes(&data).await;
        let reason = reply.failure(400);
        assert!(reason.contains("the batch of documents"), "{data}: {reason}");
        assert!(!reason.contains(secret) && !reason.contains("4711"), "{data}: {reason}");
    }
}

#[test]
fn a_documents_debug_form_hides_its_content() {
    let document = Document::from_json(r#"{"email":"ada@example.org"}"#).unwrap();
    assert_eq!(format!("{document:?}"), "Document { n_bytes: 27 }");
    assert!(Document::from_json("{").is_err());
}
