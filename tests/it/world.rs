//! A world of its own for each test: an empty in-memory account and the app on it.

use std::{path::Path, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use serde_json::Value;
use tower::ServiceExt;
use tributary::{app::app, cosmos::Cosmos};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};

const DATABASE: &str = "tributary";

/// The app on an empty account, in this process.
#[derive(Clone)]
pub struct World {
    pub endpoint: CosmosEndpoint,
    pub router: Router,
}

/// An answer of the app.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl World {
    pub async fn new() -> Self {
        let options =
            EndpointOptions { keep_requests: true, expiry_interval: None, ..Default::default() };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let containers = Path::new(env!("CARGO_MANIFEST_DIR")).join("infra/containers.json");
        endpoint.provision(DATABASE, &ContainersFile::read(containers).unwrap()).await.unwrap();
        let router = Self::instance(&endpoint).await;
        Self { endpoint, router }
    }

    /// Another instance of the app on the same account.
    pub async fn instance(endpoint: &CosmosEndpoint) -> Router {
        let runtime = endpoint.runtime().await.unwrap();
        let cosmos: Arc<Cosmos> = Cosmos::new(endpoint.account(), Some(runtime), DATABASE.into());
        app(&cosmos).into_router().unwrap()
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call("PUT", path, &[], Some(body)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, &[], Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, &[], None).await
    }

    /// A request with headers of its own.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Some(json) => {
                request = request.header("content-type", "application/json");
                Body::from(json.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The answer, if it has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
