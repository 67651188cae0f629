//! The memory that a body takes while it is read, beside what admission control reserves for it. This
//! is a process of its own, since its allocator counts for the whole process.

#![expect(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Response},
};
use peak_alloc::PeakAlloc;
use tower::ServiceExt;
use tributary_functions::http::HttpFunction;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

const UNRESERVED_BYTES: usize = 128 * KIB;

/// Bodies that are refused without a store request. Each has a shape that takes the most memory when it
/// is parsed.
fn worst_bodies(bytes: usize) -> Vec<(&'static str, String)> {
    let zeros = |bytes: usize| format!("[{}0]", "0,".repeat(bytes / 2));
    let mut bodies = vec![
        ("a list of an unknown field", format!(r#"{{"unknown":{}}}"#, zeros(bytes - 20))),
        ("unknown fields", {
            let names: Vec<String> = (0..bytes / 11).map(|n| format!(r#""{n:06}":0"#)).collect();
            format!("{{{}}}", names.join(","))
        }),
        ("a list of lists", format!("[{}0]", "[],".repeat(bytes / 3))),
        ("objects in a list", format!(r#"{{"items":[{}0]}}"#, r#"{"":0},"#.repeat(bytes / 8))),
        ("bad items", format!(r#"{{"items":[{}0]}}"#, "{},".repeat(499))),
        ("items with bad tags", {
            let item = format!(r#"{{"tags":[{}0]}},"#, "0,".repeat(49));
            format!(r#"{{"items":[{}0]}}"#, item.repeat(499))
        }),
        ("items with metadata", {
            let item = format!(r#"{{"metadata":{{"a":{}}}}},"#, zeros(16 * KIB - 100));
            format!(r#"{{"items":[{}0]}}"#, item.repeat((bytes / item.len()).min(499)))
        }),
        ("metadata", format!(r#"{{"metadata":{{"a":{}}}}}"#, zeros(bytes - 40))),
    ];
    for field in ["items", "tagIds", "tags", "addresses", "content", "name", "metadata", "userId"] {
        bodies.push((field, format!(r#"{{"{field}":{}}}"#, zeros(bytes - 20))));
    }
    bodies
}

#[tokio::test]
async fn no_body_takes_more_memory_than_its_reservation() {
    let app = tributary::program().describe().unwrap();
    let functions: Vec<HttpFunction> = app
        .http_functions()
        .filter(|function| [Method::POST, Method::PUT].contains(&function.method))
        .cloned()
        .collect();
    let router = app.into_handler().into_router().unwrap();
    let mut worst = (0.0, String::new());
    for function in functions {
        // Functions without a body, and those that would wait for a store.
        if ["LikePost", "MigrateNews", "ArchiveNews", "ReplayDeadLetter"].contains(&function.name) {
            continue;
        }
        let largest = match function.name {
            "PostNewsItems" => MIB,
            "PostNewsItem" | "PutProduct" => MIB / 4,
            // The other functions run the same code, so smaller bodies are enough.
            _ => 128 * KIB,
        };
        for (what, body) in worst_bodies(largest) {
            let bytes = body.len();
            let request = request(&function, body);
            let reserved = function.footprint.memory_bytes(&request).max(UNRESERVED_BYTES);
            let (response, peak) = sent(&router, request).await;
            assert!(response.status().is_client_error() || response.status().is_success());
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(!body.is_empty(), "{} {what}", function.name);
            // The text itself was in memory before.
            let peak = peak + bytes;
            let told =
                format!("{} {what}: {peak} bytes for {bytes}, reserved {reserved}", function.name);
            println!("{told}");
            assert!(peak <= reserved, "{told}");
            #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
            let factor = peak as f64 / bytes as f64;
            if bytes > UNRESERVED_BYTES && factor > worst.0 {
                worst = (factor, told);
            }
        }
    }
    println!("At most {:.2} times the text: {}", worst.0, worst.1);
}

fn request(function: &HttpFunction, body: String) -> Request<Body> {
    let path: Vec<&str> = function
        .route
        .split('/')
        .map(|part| if part.starts_with('{') { "a1" } else { part })
        .collect();
    Request::builder()
        .method(&function.method)
        .uri(path.join("/"))
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

/// Sends a request, and returns the most memory that it has taken beside the memory in use before.
async fn sent(router: &Router, request: Request<Body>) -> (Response<Body>, usize) {
    let router = router.clone();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let answered = tokio::time::timeout(Duration::from_mins(1), router.oneshot(request)).await;
    let peak = MEMORY.peak_usage().saturating_sub(before);
    (answered.unwrap().unwrap(), peak)
}
