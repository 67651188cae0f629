//! Requests at the edges of HTTP, and answers without a body, as the host's server treats them.

use serde_json::{Value, json};

use crate::http::{get, send, start};
use crate::recorder::{Answer, Recorder};
use crate::support::{http_function, settings, staged};

fn functions() -> Vec<(&'static str, Value)> {
    let methods = ["get", "head", "post", "delete"];
    vec![("All", http_function("api/{*path}", &methods, "anonymous"))]
}

fn has(answer: &Answer, header: &str) -> bool {
    answer.headers.iter().any(|line| line == header)
}

#[tokio::test]
async fn an_answer_without_a_body_has_the_length_zero_and_no_chunks() {
    let recorder = Recorder::start(&functions()).await;
    for (status, line, has_length) in [
        (200, "GET /api/a", true),
        (404, "DELETE /api/a", true),
        (200, "HEAD /api/a", false),
        (204, "GET /api/a", false),
        (304, "GET /api/a", false),
    ] {
        let empty = json!({ "status": status, "headers": {}, "body": "", "chunked": true });
        recorder.answers(&empty);
        let answer = recorder.ask(line).await;
        assert_eq!(answer.status(), status);
        assert_eq!(has(&answer, "content-length: 0"), has_length, "{line}: {answer:?}");
        assert!(!has(&answer, "transfer-encoding: chunked"), "{line}: {answer:?}");
    }
    recorder.host.stop().await;
}

#[tokio::test]
async fn the_status_of_the_host_names_the_host_and_how_long_it_runs() {
    let app = staged(&functions());
    let (host, _) = start(&app, &settings(), None).await;
    let url = format!("{}/admin/host/status", host.url());
    let status = get(&url).await.json();
    assert_eq!(status["state"], "Running");
    assert_eq!(status["version"], "4.1037.0.0");
    for name in ["id", "versionDetails", "platformVersion", "instanceId", "computerName"] {
        assert!(status[name].is_string(), "{name} of {status}");
    }
    let uptime = |status: &Value| status["processUptime"].as_u64().unwrap();
    let later = send(http::Method::GET, &url, &[], "").await.json();
    assert!(uptime(&later) >= uptime(&status));
    assert_eq!(later["instanceId"], status["instanceId"]);
    host.stop().await;
}

#[tokio::test]
async fn a_request_without_one_host_is_a_400_and_is_not_delivered() {
    let recorder = Recorder::start(&functions()).await;
    for hosts in ["", "Host: a\r\nHost: a\r\n"] {
        let request = format!("GET /api/a HTTP/1.1\r\n{hosts}\r\n");
        let answer = recorder.send_raw(request.as_bytes()).await;
        assert_eq!(answer.line, "HTTP/1.1 400 Bad Request", "{request:?}");
        assert!(has(&answer, "connection: close"), "{request:?}: {answer:?}");
        assert_eq!(recorder.deliveries().len(), 0, "{request:?}");
    }
    recorder.host.stop().await;
}
