//! Connections to the handler that break: the repetitions of the host, and its answers.

use std::collections::BTreeSet;

use axum::http::Method;
use futures::future::join_all;
use serde_json::json;
use tributary_local::chaos::{Chaos, ChaosKind};
use tributary_local::host::HostOptions;

use crate::hosted::{Delivery, Hosted, send};
use crate::support::all_paths;

fn ids(deliveries: &[Delivery]) -> BTreeSet<&str> {
    deliveries.iter().map(|delivery| delivery.header("x-azure-functions-invocationid")).collect()
}

#[tokio::test]
async fn a_request_without_a_body_is_repeated_under_one_invocation_id_and_one_with_a_body_is_not() {
    let hosted = Hosted::start(&all_paths()).await;
    hosted.folder.answers(&json!({ "reset": true }));
    // `answers.rs` has a GET and a DELETE without a body and a POST with one.
    let cases = [
        (Method::HEAD, "", 40),
        (Method::PUT, "", 40),
        (Method::POST, "", 10),
        (Method::PUT, "{}", 1),
        (Method::DELETE, "{}", 1),
    ];
    let answers = cases.iter().enumerate().map(async |(n, (method, body, _))| {
        send(method.clone(), &hosted.url(&format!("/api/{n}")), &[], body).await
    });
    for answer in join_all(answers).await {
        assert_eq!((answer.status.as_u16(), answer.body.len()), (500, 0));
    }
    let deliveries = hosted.folder.deliveries();
    for (n, (method, body, expected)) in cases.into_iter().enumerate() {
        let line = format!("{method} /api/{n}");
        let mut of = deliveries.clone();
        of.retain(|delivery| delivery.line == line);
        assert_eq!(of.len(), expected, "{line} with {body:?}");
        assert_eq!(ids(&of).len(), 1, "{line}");
    }
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_request_that_ends_the_handler_is_repeated_to_the_next_one_and_the_third_end_stops_the_host()
 {
    let hosted = Hosted::start(&all_paths()).await;
    hosted.folder.answers(&json!({ "exit": 3 }));
    let answer = send(Method::DELETE, &hosted.url("/api/deadly"), &[], "").await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (500, 0));
    let deliveries = hosted.folder.deliveries();
    assert_eq!((deliveries.len(), ids(&deliveries).len()), (3, 1));
    let failure = hosted.host.failed().await.to_string();
    assert!(failure.contains("three times"), "{failure}");
    hosted.host.stop().await;
}

#[tokio::test]
async fn chaos_repeats_requests_without_a_body_and_answers_once() {
    let chaos = Chaos::new("repeat=1".parse().unwrap(), 7);
    let given = chaos.clone();
    let with_chaos = |options| HostOptions { chaos: Some(given), ..options };
    let hosted = Hosted::with(&all_paths(), with_chaos).await;
    let mut n_deliveries = BTreeSet::new();
    for n in 0..30 {
        let answer = send(Method::DELETE, &hosted.url(&format!("/api/{n}")), &[], "").await;
        assert_eq!(answer.status, 418);
        let deliveries = hosted.folder.deliveries();
        assert_eq!(ids(&deliveries).len(), 1);
        n_deliveries.insert(deliveries.len());
    }
    assert!(n_deliveries.iter().all(|n| (2..=40).contains(n)), "{n_deliveries:?}");
    assert!(n_deliveries.len() > 2, "{n_deliveries:?}");
    send(Method::POST, &hosted.url("/api/body"), &[], "{}").await;
    let bodies: Vec<String> =
        hosted.folder.deliveries().into_iter().map(|delivery| delivery.body).collect();
    assert_eq!(bodies, ["{}"]);
    let repeated = chaos.injected().into_iter().find(|(kind, _)| *kind == ChaosKind::Repeat);
    assert_eq!(repeated, Some((ChaosKind::Repeat, 30)));
    hosted.host.stop().await;
}
