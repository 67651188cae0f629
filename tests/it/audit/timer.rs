//! `AuditBlog`: the audit as a timer function.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary_functions::{app::AppOptions, audit};
use tributary_local::cosmos::{Fault, RequestKind};

use super::{change, findings, remove, small_blog};
use crate::world::World;

async fn app(world: &World, repair: bool) -> Router {
    let audit = audit::AuditOptions { settle: Duration::ZERO, repair };
    let options = AppOptions { audit, ..World::options() };
    World::app(&World::cosmos(&world.endpoint).await, options).into_handler().into_router().unwrap()
}

/// The status and the answer of the function.
async fn run(app: Router) -> (u16, Value) {
    let timer =
        json!({"Schedule": {"AdjustForDST": true}, "ScheduleStatus": null, "IsPastDue": false});
    let body = json!({"Data": {"timer": timer}, "Metadata": {}}).to_string();
    let request = Request::post("/AuditBlog")
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap();
    let response = app.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn the_timer_succeeds_with_findings_and_repairs_only_if_set() {
    let world = small_blog().await;
    remove(&world, ("users", "ann", "post:p1")).await;
    change(&world, ("feed", "post", "p2"), json!({"version": 1})).await;
    assert_eq!(run(app(&world, false).await).await.0, 200);
    assert_eq!(findings(&world).await.len(), 2);
    assert_eq!(run(app(&world, true).await).await.0, 200);
    assert_eq!(findings(&world).await, [""; 0]);
}

#[tokio::test]
async fn the_timer_fails_if_the_store_is_unavailable() {
    let world = small_blog().await;
    world.endpoint.inject(Fault::Refused(503), RequestKind::Query, "posts", 1_000);
    assert_eq!(run(app(&world, false).await).await.0, 500);
}
