//! The handlers' side: the app of this workspace, built beside this program.

use std::path::Path;

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tributary_local::host::{BuiltApp, BuiltAppError};
use tributary_simulator::{Api, Call, Reply};

/// The app of this workspace, on a store.
pub(crate) fn app(connection: &str) -> Result<BuiltApp, BuiltAppError> {
    BuiltApp::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), connection)
}

/// The API behind a URL.
pub(crate) struct HttpApi {
    url: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl HttpApi {
    pub(crate) fn new(url: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { url: url.to_owned(), client }
    }

    async fn exchange(&self, call: Call) -> anyhow::Result<Reply> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(format!("{}{}", self.url, call.path))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key);
        }
        let body = call.body.map(|body| body.to_string()).unwrap_or_default();
        let response = self.client.request(request.body(Full::from(body))?).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Reply::new(parts.status, &parts.headers, &body))
    }
}

impl Api for HttpApi {
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>> {
        async move { self.exchange(call).await.ok() }.boxed()
    }
}
