//! Traces and metrics, as a collector gets them.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::any_value::Value::StringValue,
    trace::v1::{Span, span::SpanKind},
};
use prost::Message;
use serde_json::json;
use tokio::net::TcpListener;

use crate::handler::{self, wait_for};
use crate::world::World;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    metrics: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let router = Router::new()
            .route("/v1/traces", post(traces))
            .route("/v1/metrics", post(metrics))
            .with_state(collector.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, router).await });
        (collector, url)
    }

    async fn span(&self, name: &str) -> Span {
        let find = || self.spans.lock().unwrap().iter().find(|span| span.name == name).cloned();
        wait_for(find).await.unwrap_or_else(|| panic!("no span {name}: {:#?}", self.spans))
    }
}

async fn traces(State(collector): State<Collector>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let spans = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    collector.spans.lock().unwrap().extend(spans.flat_map(|scope| scope.spans));
}

async fn metrics(State(collector): State<Collector>, body: Bytes) {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    let names = scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name);
    collector.metrics.lock().unwrap().extend(names);
}

fn hex(id: &[u8]) -> String {
    id.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn text<'a>(span: &'a Span, key: &str) -> &'a str {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == key);
    match attribute.and_then(|found| found.value.as_ref()?.value.as_ref()) {
        Some(StringValue(text)) => text,
        other => panic!("{key} of {} is {other:?}", span.name),
    }
}

#[tokio::test]
async fn the_collector_gets_spans_of_the_hosts_trace_and_metrics() {
    let (collector, url) = Collector::start().await;
    let world = World::new().await;
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "10"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "20"),
    ];
    let handler = handler::start(&world, &settings).await;
    // The host's Application Insights sends this header, with the flag for sampling at 0.
    let traceparent = format!("00-{TRACE}-{PARENT}-00");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let ann = json!({"username": "Ann"}).to_string();
    assert_eq!(handler.send("PUT", "/api/users/ann", &headers, ann).await.status, 201);
    let post = json!({"userId": "ann", "title": "T", "content": "C"}).to_string();
    assert_eq!(handler.send("PUT", "/api/posts/p", &[headers[0]], post).await.status, 201);
    let posts = world.items("posts").await;
    let batch = json!({"Data": {"documents": posts}, "Metadata": {}}).to_string();
    let id = ("x-azure-functions-invocationid", "the-id");
    let answer = handler.send("POST", "/HomeFeed", &[headers[0], headers[1], id], batch).await;
    assert_eq!(answer.status, 200, "{}", answer.text);

    let answer = handler.send("PUT", "/api/posts/p/likes/ann", &[headers[0]], "").await;
    assert_eq!(answer.status, 201, "{}", answer.text);

    let request = collector.span("PUT /api/users/{userId}").await;
    let batch = collector.span("HomeFeed").await;
    for (span, kind) in [(&request, SpanKind::Server), (&batch, SpanKind::Consumer)] {
        assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
        assert_eq!(span.kind(), kind);
    }
    assert_eq!(text(&request, "faas.name"), "PutUser");
    assert_eq!(text(&request, "http.route"), "/api/users/{userId}");
    // The spans of a group are under the request that began it.
    let like = collector.span("PUT /api/posts/{postId}/likes/{userId}").await;
    for (child, parent) in [
        ("create_item users", &request),
        ("execute_batch feed", &batch),
        ("execute_batch posts", &like),
    ] {
        let child = collector.span(child).await;
        assert_eq!(child.parent_span_id, parent.span_id);
        assert_eq!(child.kind(), SpanKind::Client);
        assert_eq!(text(&child, "db.system.name"), "azure.cosmosdb");
        assert!(child.start_time_unix_nano >= parent.start_time_unix_nano, "{child:?}");
        assert!(child.end_time_unix_nano > child.start_time_unix_nano, "{child:?}");
    }
    let line = handler.line(r#""function":"PutUser""#).await;
    assert_eq!(line["span_id"], hex(&request.span_id));
    let alone = collector.span("PUT /api/posts/{postId}").await;
    assert!(alone.parent_span_id.is_empty(), "it came without a trace");

    for name in [
        "http.server.request.duration",
        "faas.invoke_duration",
        "db.client.operation.duration",
        "tributary.request_charge",
        "tributary.store.requests",
        "tributary.store.throttled",
        "tributary.change_feed.lag",
        "tributary.change_feed.changes",
    ] {
        let find =
            || collector.metrics.lock().unwrap().iter().any(|metric| metric == name).then_some(());
        assert!(wait_for(find).await.is_some(), "no metric {name}");
    }
    let spans = format!("{:?}", collector.spans.lock().unwrap());
    assert!(!spans.contains("ann") && !spans.contains("Ann"), "{spans}");
}

#[tokio::test]
async fn the_remaining_spans_are_exported_when_the_process_ends() {
    let (collector, url) = Collector::start().await;
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "3600000"),
    ];
    let mut handler = handler::start(&World::new().await, &settings).await;
    handler.send("GET", "/api/feed", &[], "").await;
    assert!(collector.spans.lock().unwrap().is_empty());
    handler.terminate().await;
    collector.span("GET /api/feed").await;
    let metrics = collector.metrics.lock().unwrap();
    for name in ["store.queries", "partitions", "partitions.hottest_share", "partitions.gini"] {
        assert!(metrics.contains(&format!("tributary.{name}")), "no {name} in {metrics:?}");
    }
}
