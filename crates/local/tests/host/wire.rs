//! The body of an invocation and the answer to it.

use serde_json::{Value, json};
use time::macros::datetime;
use tributary_local::host::InvocationFailure;
use tributary_local::host::wire::{self, Attempt, TimerStatus, read_answer};

use crate::support::{cosmos_function, function};

/// Cuts out the parts that change with every invocation.
fn fixed(body: &str) -> String {
    let mut json: Value = serde_json::from_str(body).unwrap();
    let sys = json["Metadata"]["sys"].as_object_mut().unwrap();
    for field in ["UtcNow", "RandGuid"] {
        assert!(sys[field].is_string());
        sys.insert(field.to_owned(), "…".into());
    }
    json.to_string()
}

#[test]
fn documents_are_encoded_twice() {
    let documents = [json!({ "id": "1", "at": "2026-11-21T09:25:54.120Z", "n": 1e20 })];
    let function = function(&cosmos_function());
    let page = wire::page(&function, &documents).unwrap();
    let body = wire::documents(&function, &page, &Attempt::default());
    insta::assert_snapshot!(fixed(&body), @r#"{"Data":{"documents":"\"[{\\\"at\\\":\\\"2026-11-21T09:25:54.12Z\\\",\\\"id\\\":\\\"1\\\",\\\"n\\\":1E+20}]\""},"Metadata":{"RetryContext":{"Exception":null,"Instance":null,"MaxRetryCount":-1,"RetryCount":0,"State":{}},"sys":{"MethodName":"Copies","RandGuid":"…","UtcNow":"…"}}}"#);
}

#[test]
fn a_timer_gets_its_schedule_and_status() {
    let timer = function(&json!({ "bindings": [{
        "type": "timerTrigger", "direction": "in", "name": "timer", "schedule": "0 0 * * * *",
    }] }));
    let status =
        TimerStatus { last: None, next: Some(datetime!(2026-11-21 10:00 UTC)), is_past_due: true };
    let body = wire::timer(&timer, Some(&status), &Attempt::default());
    insta::assert_snapshot!(fixed(&body), @r#"{"Data":{"timer":{"IsPastDue":true,"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"0001-01-01T00:00:00+00:00","LastUpdated":"0001-01-01T00:00:00+00:00","Next":"2026-11-21T10:00:00+00:00"}}},"Metadata":{"sys":{"MethodName":"Copies","RandGuid":"…","UtcNow":"…"}}}"#);
    let body = wire::timer(&timer, None, &Attempt::default());
    assert!(body.contains(r#""ScheduleStatus":null"#));
}

#[test]
fn only_a_2xx_with_a_json_object_is_a_success() {
    let json = "application/json";
    let good = br#"{"Outputs":{},"Logs":["a",1],"ReturnValue":null}"#;
    let answer = read_answer(200, "application/json; charset=utf-8", good).unwrap();
    assert_eq!(answer.logs, ["a", "1"]);
    assert_eq!(read_answer(202, json, b"{}").unwrap().logs.len(), 0);

    assert_eq!(read_answer(500, json, good), Err(InvocationFailure::Status(500)));
    assert_eq!(read_answer(302, json, good), Err(InvocationFailure::Status(302)));
    for empty in [&b""[..], b" \n", b"null", b" null "] {
        assert_eq!(read_answer(200, json, empty), Err(InvocationFailure::Hang(200)));
    }
    assert_eq!(read_answer(204, "", b""), Err(InvocationFailure::Hang(204)));
    let text = "text/plain".to_owned();
    assert_eq!(
        read_answer(200, "text/plain", good),
        Err(InvocationFailure::ContentType(200, text))
    );
    for bad in [&b"[]"[..], b"{", b"\"x\"", br#"{"Outputs":1}"#, br#"{"Logs":"x"}"#] {
        assert!(matches!(read_answer(200, json, bad), Err(InvocationFailure::Body(200, _))));
    }
}
