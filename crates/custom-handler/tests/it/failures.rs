//! Invocations that fail, alone.

use custom_handler::{CustomHandler, Documents};
use serde_json::json;

use crate::world::TestApp;

fn app() -> TestApp {
    TestApp::new(
        CustomHandler::new()
            .trigger("Changes", async |_: Documents| {})
            .trigger("Panics", async || -> () { panic!("on {}", "purpose") })
            .trigger("PanicsLater", async || {
                tokio::task::yield_now().await;
                assert_eq!(1, 2, "later");
            })
            .trigger("PanicsAtOnce", || -> std::future::Ready<()> { panic!("at once") })
            .trigger("PanicsOddly", async || -> () { std::panic::panic_any(7) }),
    )
}

#[tokio::test]
async fn a_body_that_is_no_invocation_fails() {
    let app = app();
    for body in [
        &b""[..],
        b"null",
        b"[{\"documents\": []}, {}]",
        b"{",
        b"{}",
        b"{\"Data\":[]}",
        b"{\"Data\":{}}",
        b"{\"Data\":{\"a\":[],\"b\":[]}}",
        b"{\"Data\":{\"a\":[]}} {}",
        b"{\"Data\":{\"a\":[]},\"Data\":{\"a\":[]}}",
        b"{\"data\":{\"a\":[]}}",
        b"{\"Data\":{\"a\":[\xff]}}",
        b"\xef\xbb\xbf{\"Data\":{\"a\":[]}}",
    ] {
        let reply = app.invoke("Changes", body).await;
        assert!(reply.failure(400).len() > 20, "{}: {}", body.escape_ascii(), reply.text);
    }
    app.changes(&json!([])).await.answer();
}

#[tokio::test]
async fn a_panic_fails_its_own_invocation_only() {
    let app = app();
    let panics = [
        ("Panics", "on purpose"),
        ("PanicsLater", "later"),
        ("PanicsAtOnce", "at once"),
        ("PanicsOddly", "a panic without a message"),
    ];
    let batch = json!([{"id": "a"}]);
    for (function, reason) in panics {
        let (panicked, other) = tokio::join!(app.invoke(function, "{}"), app.changes(&batch));
        assert!(panicked.failure(500).contains(reason), "{}", panicked.text);
        other.answer();
    }
}
