//! Arbitrary bytes: no answer makes the host wait, and nothing ends the server.

use custom_handler::{CustomHandler, Documents, InvocationId, TimerInfo};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{TestApp, encoded};

fn app() -> TestApp {
    TestApp::new(
        CustomHandler::new()
            .trigger("Changes", async |_: Documents| {})
            .trigger("Nightly", async |_: TimerInfo, _: InvocationId| {})
            .trigger("Anything", async || ()),
    )
}

/// Checks that a success is a whole answer, and that a failure has a reason.
fn send_to_all(body: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let app = app();
        for function in ["Changes", "Nightly", "Anything"] {
            let reply = app.invoke(function, body.to_vec()).await;
            if reply.status.is_success() {
                reply.answer();
            } else {
                reply.failure(400);
            }
        }
        app.changes(&json!([])).await.answer();
    });
}

fn valid_bodies() -> impl Strategy<Value = Vec<u8>> {
    let batch = r#"[{"id":"\"é\\ud83d\\ude00"},{}]"#;
    let timer = json!({"IsPastDue": false});
    let data = [json!(encoded(batch)), json!(batch), json!([{"id": 1}]), timer];
    let bodies = data.map(|data| json!({"Data": {"x": data}, "Metadata": {}}).to_string());
    prop::sample::select(bodies.map(String::into_bytes).to_vec())
}

proptest! {
    #[test]
    fn damaged_bodies_get_a_whole_answer(
        body in valid_bodies(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut body = body;
        for (place, byte) in damage {
            let place = place.index(body.len());
            body[place] = byte;
        }
        if cut {
            body.truncate(end.index(body.len()));
        }
        send_to_all(&body);
    }
}
