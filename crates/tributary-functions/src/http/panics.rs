//! Panics: each ends one request, and no other.

use std::panic::AssertUnwindSafe;

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt;

use super::ApiError;

/// Answers a request whose handler panics with a 500 problem document. Rust writes the reason to standard
/// error, which the host logs as an error.
pub(crate) async fn catch_panics(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        tracing::error!("The request panicked");
        ApiError::Internal.into_response()
    })
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware, routing::get};
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_problem_document_and_the_next_request_is_served() {
        let router = Router::new()
            .route("/bug", get(|| async { panic!("a bug") as String }))
            .route("/fine", get(|| async { "fine" }))
            .layer(middleware::from_fn(catch_panics));
        for (path, status) in [("/bug", 500), ("/fine", 200)] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), status, "{path}");
            let problem = response.headers()["content-type"] == "application/problem+json";
            assert_eq!(problem, status == 500, "{path}");
        }
    }
}
