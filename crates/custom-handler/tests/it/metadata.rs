//! The id, the system metadata and the retry context.

use axum::body::Body;
use axum::http::Request;
use custom_handler::{
    CustomHandler, InvocationId, InvocationOutcome, RetryContext, SystemMetadata,
};
use serde_json::{Value, json};

use crate::world::{ID, TestApp};

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
}

#[tokio::test]
async fn without_a_retry_policy_there_is_no_retry_context() {
    let app = retry_app();
    assert_eq!(app.invoke("Changes", "{}").await.output("retry"), json!(null));
    assert_eq!(retry(json!(null)).await, json!(null));

    let app = TestApp::new(CustomHandler::new().trigger("Changes", async |_: RetryContext| {}));
    assert!(app.invoke("Changes", "{}").await.failure(400).contains("`retry` policy"));
}

#[tokio::test]
async fn the_id_and_the_system_metadata_come_from_the_host() {
    let handler = async |id: InvocationId, sys: SystemMetadata| {
        InvocationOutcome::new()
            .output("all", json!([id.0, sys.method_name, sys.utc_now, sys.rand_guid]))
    };
    let app = TestApp::new(CustomHandler::new().trigger("Changes", handler));
    let sys = json!({"MethodName": "Changes", "UtcNow": "2026-05-01T12:00:00Z", "RandGuid": "g"});
    let body = json!({"Data": {}, "Metadata": {"sys": sys}}).to_string();
    let all = app.invoke("Changes", body.clone()).await.output("all");
    assert_eq!(all, json!([ID, "Changes", "2026-05-01T12:00:00Z", "g"]));

    let reply = app.invoke("Changes", r#"{"Data": {}}"#).await;
    assert!(reply.failure(400).contains("`Metadata.sys` is missing"));

    let without_id = Request::post("/Changes").body(Body::from(body)).unwrap();
    let reply = app.send(without_id).await;
    assert!(reply.failure(400).contains("X-Azure-Functions-InvocationId is missing"));
}
