//! An app in process, and the requests of the host to it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use custom_handler::{CustomHandler, Documents, InvocationOutcome};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const ID: &str = "6f1f0f3a-0000-4000-8000-000000000001";

pub(crate) struct TestApp {
    router: Router,
}

pub(crate) struct AppReply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

impl TestApp {
    pub(crate) fn new(handler: CustomHandler) -> Self {
        Self { router: handler.into_router().unwrap() }
    }

    /// Creates an app with one trigger, `Changes`, that returns the raw documents in its outputs.
    pub(crate) fn echoing_documents() -> Self {
        Self::new(CustomHandler::new().trigger("Changes", async |documents: Documents| {
            let raw: Vec<&str> = documents.0.iter().map(custom_handler::Document::raw).collect();
            InvocationOutcome::new().output("raw", json!(raw))
        }))
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> AppReply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let content_type = head.headers.get(header::CONTENT_TYPE);
        AppReply {
            status: head.status,
            content_type: content_type.map_or("", |value| value.to_str().unwrap()).to_owned(),
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn invoke(&self, function: &str, body: impl Into<Body>) -> AppReply {
        self.send(invocation(function, body)).await
    }

    /// Invokes `Changes` with this as the data of its only binding.
    pub(crate) async fn changes(&self, data: &Value) -> AppReply {
        self.invoke("Changes", json!({"Data": {"documents": data}}).to_string()).await
    }
}

impl AppReply {
    /// Checks that the invocation succeeded with an answer that is complete for the host, and returns the answer.
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        assert_eq!(self.content_type, "application/json");
        let answer: Value = serde_json::from_str(&self.text).unwrap();
        assert!(answer["Outputs"].is_object() && answer["Logs"].is_array(), "{answer}");
        assert!(answer.get("ReturnValue").is_some(), "{answer}");
        answer
    }

    pub(crate) fn output(&self, binding: &str) -> Value {
        self.answer()["Outputs"][binding].take()
    }

    /// Checks that the invocation failed with a reason, and returns the reason.
    pub(crate) fn failure(&self, status: u16) -> &str {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert!(!self.text.trim().is_empty());
        &self.text
    }
}

/// Returns `POST /<function>` with the headers of the host.
pub(crate) fn invocation(function: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("/{function}"))
        .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
        .header("X-Azure-Functions-InvocationId", ID)
        .header("X-Azure-Functions-HostVersion", "4.1040.300.25317")
        .body(body.into())
        .unwrap()
}

/// Returns a JSON string with this text.
pub(crate) fn encoded(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
