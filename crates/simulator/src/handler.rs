//! The handlers' side: the app of this workspace, built beside this program.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tributary_local::host::{FunctionApp, HandlerOptions, Settings};
use tributary_simulator::{Api, Call, Reply};

/// The app and where its executable is.
pub(crate) struct App {
    pub(crate) root: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) functions: FunctionApp,
}

impl App {
    /// The app of the workspace, on a store.
    pub(crate) fn load(connection: &str) -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut settings = Settings::read(&root.join("local.settings.json.example"))?;
        settings.set_connection("CosmosConnection", connection);
        settings.set("RUST_LOG", "warn");
        let functions = FunctionApp::load(&root, &settings)?;
        let program = std::env::current_exe().context("this program has no path")?;
        let folder = program.parent().context("this program has no folder")?.to_owned();
        Ok(Self { root, folder, settings, functions })
    }

    /// How to start a handler without a host.
    pub(crate) fn handler(&self) -> HandlerOptions {
        HandlerOptions {
            executable: self.executable(),
            arguments: Vec::new(),
            working_directory: self.root.clone(),
            settings: self.settings.clone(),
            launcher: None,
            start_timeout: std::time::Duration::from_secs(30),
        }
    }

    /// The handler's executable.
    pub(crate) fn executable(&self) -> PathBuf {
        self.folder
            .join(&self.functions.host().executable)
            .with_extension(std::env::consts::EXE_EXTENSION)
    }
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
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Reply { status, body: serde_json::from_slice(&body).unwrap_or_default() })
    }
}

impl Api for HttpApi {
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>> {
        async move { self.exchange(call).await.ok() }.boxed()
    }
}
