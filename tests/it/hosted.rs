//! The handler's own process behind the stand-in for the Functions host, over TCP.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tributary_local::{
    client::Client,
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{Console, FunctionApp, Host, HostOptions, Settings},
};
use tributary_testing::handler;

use crate::world::Answer;

pub(crate) struct Hosted {
    pub(crate) host: Host,
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) console: Console,
    client: Client,
    _server: RunningServer,
}

impl Hosted {
    /// The app without data, with these settings; its handler logs warnings and errors only.
    pub(crate) async fn with(more: &[(&str, &str)]) -> Self {
        // The deployment turns the home page off, too.
        let settings = [("RUST_LOG", "warn"), ("AzureWebJobsDisableHomepage", "true")];
        Self::of(root(), &[&settings, more].concat(), HostOptions::new(folder())).await
    }

    pub(crate) async fn of(app: &Path, more: &[(&str, &str)], options: HostOptions) -> Self {
        let endpoint = CosmosEndpoint::new(EndpointOptions::default()).unwrap();
        let containers = ContainersFile::read(root().join("infra/containers.json")).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let mut settings = Settings::read(&root().join("local.settings.json.example")).unwrap();
        settings.set_connection("CosmosConnection", &server.connection_string());
        for (name, value) in more {
            settings.set(*name, *value);
        }
        let app = FunctionApp::load(app, &settings).unwrap();
        assert!(app.warnings().is_empty(), "{:?}", app.warnings());
        let console = Console::kept();
        let options = HostOptions { console: console.clone(), ..options };
        let host = Host::start(app, &settings, options).await.unwrap();
        let client = Client::new("").unwrap();
        Self { host, endpoint, console, client, _server: server }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], Value::Null).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", path, &[], body.clone()).await
    }

    /// Sends a request with these headers, and with a body unless it is null.
    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let url = format!("{}{path}", self.host.url());
        let headers = [headers, &[("content-type", "application/json")]].concat();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        handler::send(&self.client, method, &url, &headers, body).await.unwrap()
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the handler's executable.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_tributary")).parent().unwrap().to_owned()
}
