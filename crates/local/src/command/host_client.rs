//! A client of a running host, for the commands of other terminals.

use anyhow::{Context as _, bail};
use bytes::BytesMut;
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cli::RunningHost;
use crate::client::{Call, Client, Reply};
use crate::host::{HostEvent, HostedFunction, ManualResult};

pub(super) struct HostClient {
    url: String,
    client: Client,
}

pub(super) struct EventReader {
    response: reqwest::Response,
    rest: BytesMut,
}

impl HostClient {
    pub(super) fn new(host: RunningHost) -> anyhow::Result<Self> {
        let url = format!("http://127.0.0.1:{}", host.port);
        let client = Client::new(&url)?.with_key(host.key);
        Ok(Self { url, client })
    }

    pub(super) async fn send(&self, call: &Call) -> anyhow::Result<Reply> {
        self.client.send(call).await.map_err(|error| self.explained(error))
    }

    pub(super) async fn function(&self, name: &str) -> anyhow::Result<HostedFunction> {
        let functions: Vec<HostedFunction> = self.read("/admin/local/functions").await?;
        let names: Vec<_> = functions.iter().map(|function| function.name.clone()).collect();
        let is_it = |function: &HostedFunction| function.name.eq_ignore_ascii_case(name);
        functions.into_iter().find(is_it).with_context(|| {
            format!("there is no function {name}. The app has {}", names.join(", "))
        })
    }

    pub(super) async fn openapi(&self) -> anyhow::Result<Option<Value>> {
        self.read("/admin/local/openapi").await
    }

    /// Runs a function that no request starts, and waits for its end. A Cosmos DB trigger needs documents.
    pub(super) async fn run(
        &self,
        function: &str,
        documents: Option<&[Value]>,
    ) -> anyhow::Result<ManualResult> {
        let input = documents.map(serde_json::to_string).transpose()?;
        let call = Call::new(Method::POST, format!("/admin/local/functions/{function}"));
        let answer = self.send(&call.json(json!({ "input": input }))).await?;
        if answer.status == StatusCode::BAD_REQUEST {
            bail!("{function}: {}", answer.text());
        }
        self.parsed(&answer)
    }

    pub(super) async fn events(&self) -> anyhow::Result<EventReader> {
        let response = self.client.begin(&Call::get("/admin/local/events")).await;
        let response = response.map_err(|error| self.explained(error.into()))?;
        self.check(response.status())?;
        Ok(EventReader { response, rest: BytesMut::new() })
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.parsed(&self.send(&Call::get(path)).await?)
    }

    fn parsed<T: DeserializeOwned>(&self, answer: &Reply) -> anyhow::Result<T> {
        self.check(answer.status)?;
        serde_json::from_slice(&answer.body).with_context(|| self.is_another())
    }

    fn check(&self, status: StatusCode) -> anyhow::Result<()> {
        match status {
            StatusCode::OK => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                bail!("the app asks for keys: give --key with the master key that it has printed")
            }
            _ => bail!(self.is_another()),
        }
    }

    fn is_another(&self) -> String {
        format!(
            "{} is no app under this version of `cargo local`: give the --port of one",
            self.url
        )
    }

    fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let url = &self.url;
        if error.downcast_ref().is_some_and(reqwest::Error::is_connect) {
            let advice = "start one with `cargo local`, or give its --port";
            return anyhow::anyhow!("no app answers at {url}: {advice}");
        }
        error.context(format!("{url} has not answered"))
    }
}

impl EventReader {
    /// Waits for the next event; `None` after the end of the host.
    pub(super) async fn next(&mut self) -> Option<HostEvent> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1);
                // An event of a later version is not known here.
                if let Ok(event) = serde_json::from_slice(&line) {
                    return Some(event);
                }
                continue;
            }
            self.rest.extend_from_slice(&self.response.chunk().await.ok()??);
        }
    }
}
