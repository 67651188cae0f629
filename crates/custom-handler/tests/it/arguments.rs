//! The arguments of handlers: documents in every encoding, the status of a timer, metadata.

use axum::body::Body;
use axum::http::Request;
use custom_handler::{
    CustomHandler, Document, InvocationId, InvocationOutcome, RetryContext, TimerInfo,
};
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

fn app() -> TestApp {
    TestApp::new(CustomHandler::new().trigger("Nightly", async |timer: TimerInfo| {
        let status = timer.schedule_status;
        InvocationOutcome::new()
            .output("past_due", timer.is_past_due)
            .output("dst", timer.adjust_for_dst)
            .output(
                "times",
                status.map_or(json!(null), |s| json!([s.last, s.next, s.last_updated])),
            )
    }))
}

async fn outputs(timer: Value) -> Value {
    let body = json!({"Data": {"myTimer": timer}, "Metadata": {}}).to_string();
    app().invoke("Nightly", body).await.answer()["Outputs"].take()
}

#[tokio::test]
async fn a_timer_has_its_status_and_without_a_monitor_none() {
    let times =
        ["2026-05-01T11:55:00+00:00", "2026-05-01T12:00:00+00:00", "2026-05-01T11:55:00+00:00"];
    let status = json!({"Last": times[0], "Next": times[1], "LastUpdated": times[2]});
    for (is, status, times) in [(true, status, json!(times)), (false, json!(null), json!(null))] {
        let timer = json!({
            "Schedule": {"AdjustForDST": is}, "ScheduleStatus": status, "IsPastDue": is
        });
        let expected = json!({"past_due": is, "dst": is, "times": times});
        assert_eq!(outputs(json!(encoded(&timer.to_string()))).await, expected);
        assert_eq!(outputs(timer).await, expected);
    }
}

#[tokio::test]
async fn data_that_is_no_timer_fails() {
    for data in [json!([]), json!({}), json!("soon"), json!({"IsPastDue": "no"})] {
        let body = json!({"Data": {"myTimer": data}}).to_string();
        let reply = app().invoke("Nightly", body).await;
        assert!(reply.failure(400).contains("the timer's status"), "{}", reply.text);
    }
}

fn retry_app() -> TestApp {
    TestApp::new(CustomHandler::new().trigger("Changes", async |retry: Option<RetryContext>| {
        let retry = retry.map(|r| json!([r.retry_count, r.max_retry_count, r.exception]));
        InvocationOutcome::new().output("retry", json!(retry))
    }))
}

async fn retry(context: Value) -> Value {
    let body = json!({"Data": {}, "Metadata": {"RetryContext": context}}).to_string();
    retry_app().invoke("Changes", body).await.output("retry")
}

#[tokio::test]
async fn a_retry_is_counted() {
    let exception = |e: Value| json!({"RetryCount": 3, "MaxRetryCount": -1, "Exception": e});
    assert_eq!(retry(exception(json!("no luck"))).await, json!([3, -1, "no luck"]));
    assert_eq!(retry(exception(json!(null))).await, json!([3, -1, null]));
    let object = json!({"ClassName": "System.Exception", "Message": "no luck"});
    assert_eq!(retry(exception(object)).await, json!([3, -1, "no luck"]));
    let text = exception(json!("no luck")).to_string();
    assert_eq!(retry(json!(text)).await, json!([3, -1, "no luck"]));
    assert_eq!(retry(json!({"RetryCount": 0, "MaxRetryCount": 5})).await, json!([0, 5, null]));
    // Without a retry policy there is none.
    assert_eq!(retry_app().invoke("Changes", "{}").await.output("retry"), json!(null));
    assert_eq!(retry(json!(null)).await, json!(null));
}

#[tokio::test]
async fn an_invocation_without_an_id_fails() {
    let app = TestApp::new(CustomHandler::new().trigger("Changes", async |_: InvocationId| ()));
    let without_id = Request::post("/Changes").body(Body::from("{}")).unwrap();
    let reply = app.send(without_id).await;
    assert!(reply.failure(400).contains("X-Azure-Functions-InvocationId is missing"));
}
