//! An app in process, and the requests of the host to it.

use std::sync::Once;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use custom_handler::{CustomHandler, Documents, InvocationOutcome, logs};
use serde_json::{Value, json};
use tower::ServiceExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) const ID: &str = "6f1f0f3a-0000-4000-8000-000000000001";

pub(crate) struct App {
    router: Router,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

impl App {
    pub(crate) fn new(handler: CustomHandler) -> Self {
        static LOGS: Once = Once::new();
        LOGS.call_once(|| tracing_subscriber::registry().with(logs::layer()).init());
        Self { router: handler.into_router().unwrap() }
    }

    /// One trigger, `Changes`, that gives the raw documents back in its outputs.
    pub(crate) fn echoing_documents() -> Self {
        Self::new(CustomHandler::new().trigger("Changes", async |documents: Documents| {
            let raw: Vec<&str> = documents.0.iter().map(custom_handler::Document::raw).collect();
            InvocationOutcome::new().output("raw", json!(raw))
        }))
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let content_type = head.headers.get(header::CONTENT_TYPE);
        Reply {
            status: head.status,
            content_type: content_type.map_or("", |value| value.to_str().unwrap()).to_owned(),
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn invoke(&self, function: &str, body: impl Into<Body>) -> Reply {
        self.send(invocation(function, body)).await
    }

    /// Invokes `Changes` with this as the data of its only binding.
    pub(crate) async fn changes(&self, data: &Value) -> Reply {
        self.invoke("Changes", json!({"Data": {"documents": data}}).to_string()).await
    }
}

impl Reply {
    /// The answer of a successful invocation, which has all that the host needs.
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

    /// The reason of a failure, which never is an empty answer.
    pub(crate) fn failure(&self, status: u16) -> &str {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert!(!self.text.trim().is_empty());
        &self.text
    }
}

/// `POST /<function>` with the headers of the host.
pub(crate) fn invocation(function: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("/{function}"))
        .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
        .header("X-Azure-Functions-InvocationId", ID)
        .header("X-Azure-Functions-HostVersion", "4.1040.300.25317")
        .body(body.into())
        .unwrap()
}

/// A JSON string with this text.
pub(crate) fn encoded(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
