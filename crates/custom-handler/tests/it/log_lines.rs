//! The lines of an invocation in its answer.

use custom_handler::{CustomHandler, Documents, InvocationId, logs};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::TestApp;

async fn logs_of(app: &TestApp, body: &Value) -> Vec<String> {
    let mut answer = app.invoke("Logs", body.to_string()).await.answer();
    serde_json::from_value(answer["Logs"].take()).unwrap()
}

fn batch(documents: &Value) -> Value {
    json!({"Data": {"documents": documents}})
}

#[tokio::test]
async fn the_lines_are_in_the_answer() {
    let app = TestApp::new(CustomHandler::new().trigger("Logs", async |_: InvocationId| {
        tracing::info!(post.id = "p1", n = 3, "a \"sentence\" 漢字");
        tracing::info_span!("inner", hidden = true)
            .in_scope(|| tracing::warn!(error = %"disk full", "trouble"));
    }));
    tracing::info!("not of the invocation");
    let lines = logs_of(&app, &json!({})).await;
    assert_eq!(
        lines,
        [r#"INFO a "sentence" 漢字 post.id="p1" n=3"#, "WARN trouble error=disk full"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_invocations_do_not_mix_their_lines() {
    const N_LINES: usize = 20;
    let app = TestApp::new(CustomHandler::new().trigger("Logs", async |documents: Documents| {
        let number: usize = documents.0[0].parse().unwrap();
        for line in 0..N_LINES {
            tracing::info!("{number}/{line}");
            tokio::task::yield_now().await;
        }
    }));
    let app = std::sync::Arc::new(app);
    let invocations = (0..50).map(|number| {
        let app = app.clone();
        tokio::spawn(async move { (number, logs_of(&app, &batch(&json!([number]))).await) })
    });
    for invocation in join_all(invocations).await {
        let (number, lines) = invocation.unwrap();
        let expected: Vec<_> = (0..N_LINES).map(|line| format!("INFO {number}/{line}")).collect();
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn the_lines_are_bounded_and_the_others_counted() {
    let app = TestApp::new(CustomHandler::new().trigger("Logs", async || {
        for line in 0..logs::MAX_INVOCATION_LINES + 5 {
            tracing::info!("{line}");
        }
    }));
    let lines = logs_of(&app, &json!({})).await;
    assert_eq!(lines.len(), logs::MAX_INVOCATION_LINES + 1);
    assert_eq!(
        lines[logs::MAX_INVOCATION_LINES - 1],
        format!("INFO {}", logs::MAX_INVOCATION_LINES - 1)
    );
    assert_eq!(lines[logs::MAX_INVOCATION_LINES], "(5 more lines)");
}
