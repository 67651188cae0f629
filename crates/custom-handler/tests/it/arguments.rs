//! The arguments of handlers: documents in every encoding, the status of a timer.

use axum::body::Body;
use axum::http::Request;
use custom_handler::{CustomHandler, Document, InvocationId, InvocationOutcome, TimerInfo};
use serde_json::{Value, json};

use crate::world::{TestApp, encoded};

#[tokio::test]
async fn every_encoding_gives_the_same_documents_in_order() {
    let app = TestApp::echoing_documents();
    let text =
        "quote \" backslash \\ slash / newline \n tab \t nul \u{0} é 漢字 😀 \u{2028} \\u0041";
    let plain = json!([{"id": text}, {"id": "a"}, {"id": "c"}]);
    let escaped = plain.to_string().replace('é', r"\u00e9").replace('😀', r"\ud83d\ude00");
    for data in [plain.clone(), json!(plain.to_string()), json!(encoded(&escaped))] {
        let raw = app.changes(&data).await.output("raw");
        let documents: Value = raw
            .as_array()
            .unwrap()
            .iter()
            .map(|raw| serde_json::from_str::<Value>(raw.as_str().unwrap()).unwrap())
            .collect();
        assert_eq!(documents, plain, "{data}");
    }
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
        json!([{ "id": secret }]).to_string().replace(']', "").into(),
        json!(4711),
        json!(null),
        json!(""),
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

#[tokio::test]
async fn a_timer_says_whether_it_is_past_due_and_other_data_fails() {
    let app = TestApp::new(CustomHandler::new().trigger("Nightly", async |timer: TimerInfo| {
        InvocationOutcome::new().output("past_due", timer.is_past_due)
    }));
    let nightly = async |timer: &Value| {
        app.invoke("Nightly", json!({"Data": {"myTimer": timer}}).to_string()).await
    };
    for is in [true, false] {
        let timer = json!({"Schedule": {"AdjustForDST": is}, "IsPastDue": is});
        for timer in [json!(encoded(&timer.to_string())), timer] {
            assert_eq!(nightly(&timer).await.output("past_due"), json!(is));
        }
    }
    for data in [json!([]), json!({}), json!("soon"), json!({"IsPastDue": "no"})] {
        let reply = nightly(&data).await;
        assert!(reply.failure(400).contains("the timer's status"), "{}", reply.text);
    }
}

#[tokio::test]
async fn an_invocation_without_an_id_fails() {
    let app = TestApp::new(CustomHandler::new().trigger("Changes", async |_: InvocationId| ()));
    let without_id = Request::post("/Changes").body(Body::from("{}")).unwrap();
    let reply = app.send(without_id).await;
    assert!(reply.failure(400).contains("X-Azure-Functions-InvocationId is missing"));
}
