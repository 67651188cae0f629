//! The timer trigger's status.

use custom_handler::{CustomHandler, InvocationOutcome, TimerInfo};
use serde_json::{Value, json};

use crate::world::{TestApp, encoded};

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
async fn a_timer_has_its_status() {
    let timer = json!({
        "Schedule": {"AdjustForDST": true},
        "ScheduleStatus": {
            "Last": "2026-05-01T11:55:00+00:00",
            "Next": "2026-05-01T12:00:00+00:00",
            "LastUpdated": "2026-05-01T11:55:00+00:00"
        },
        "IsPastDue": true
    });
    let expected = json!({
        "past_due": true,
        "dst": true,
        "times": [
            "2026-05-01T11:55:00+00:00",
            "2026-05-01T12:00:00+00:00",
            "2026-05-01T11:55:00+00:00"
        ]
    });
    assert_eq!(outputs(timer.clone()).await, expected);
    assert_eq!(outputs(json!(encoded(&timer.to_string()))).await, expected);
}

#[tokio::test]
async fn a_timer_without_a_monitor_has_no_status() {
    let timer = json!({
        "Schedule": {"AdjustForDST": false},
        "ScheduleStatus": null,
        "IsPastDue": false
    });
    let expected = json!({"past_due": false, "dst": false, "times": null});
    assert_eq!(outputs(timer).await, expected);
}

#[tokio::test]
async fn data_that_is_no_timer_fails() {
    for data in [json!([]), json!({}), json!("soon"), json!({"IsPastDue": "no"})] {
        let body = json!({"Data": {"myTimer": data}}).to_string();
        let reply = app().invoke("Nightly", body).await;
        assert!(reply.failure(400).contains("the timer's status"), "{}", reply.text);
    }
}
