//! The commands `query`, `export` and `import`: items as lines of JSON.

use std::{
    io::{BufRead, Write},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::{Args, Subcommand};
use cosmos_store::{
    engine::Engine,
    http::{Options, Server, Service, WELL_KNOWN_KEY, authorization},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, header::HeaderMap};
use serde_json::{Value, json, value::RawValue};
use time::{OffsetDateTime, macros::format_description};

/// The items that are on their way at once.
const IMPORTS_AT_ONCE: usize = 64;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the results of a query, one on each line.
    Query {
        #[command(flatten)]
        container: ContainerArguments,
        /// The query: SELECT * FROM c WHERE c.id = 'a'
        text: String,
    },
    /// Prints all items, one on each line.
    Export(ContainerArguments),
    /// Writes the items of the standard input, one on each line; those that exist are replaced.
    Import(ContainerArguments),
}

#[derive(Args, Debug)]
pub(crate) struct ContainerArguments {
    /// The database.
    #[arg(long, short)]
    database: String,
    /// The container.
    #[arg(long, short)]
    container: String,
    /// The address of a running store.
    #[arg(long, default_value = "http://127.0.0.1:8081")]
    url: String,
    /// The folder of a store that is not running.
    #[arg(long, conflicts_with = "url")]
    data: Option<PathBuf>,
}

/// The items of a container, of a store that runs or that this command runs.
struct Items {
    client: Client,
    url: String,
    path: String,
    _own: Option<Server>,
}

impl Items {
    async fn open(arguments: ContainerArguments) -> anyhow::Result<Self> {
        let names = [arguments.database, arguments.container];
        let [database, container] =
            names.map(|name| utf8_percent_encode(&name, NON_ALPHANUMERIC).to_string());
        let path = format!("/dbs/{database}/colls/{container}/docs");
        let mut url = arguments.url;
        let mut own = None;
        if let Some(folder) = arguments.data {
            let engine = Engine::open(Some(&folder))
                .with_context(|| format!("cannot open the store in {}", folder.display()))?;
            let service = Service::new(engine, Options::default());
            let server = service.serve(([127, 0, 0, 1], 0).into()).await?;
            url = server.url();
            own = Some(server);
        }
        url.truncate(url.trim_end_matches('/').len());
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, url, path, _own: own })
    }

    async fn send(
        &self,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> anyhow::Result<(HeaderMap, Bytes)> {
        let Self { url, path, .. } = self;
        let format = format_description!(
            "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
        );
        let date = OffsetDateTime::now_utc().format(format)?;
        let address = format!("{url}{path}");
        let (method, request) = if body.is_empty() {
            ("GET", self.client.get(address))
        } else {
            ("POST", self.client.post(address).body(body))
        };
        let mut request = request
            .header("authorization", authorization(method, path, &date, WELL_KNOWN_KEY))
            .header("x-ms-date", date);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.with_context(|| {
            format!("no store answers at {url}: start it, or name its folder with --data")
        })?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await?;
        if !status.is_success() {
            let refusal: Value = serde_json::from_slice(&body).unwrap_or_default();
            bail!("{status}: {}", refusal["message"].as_str().unwrap_or_default());
        }
        Ok((headers, body))
    }

    async fn print_pages(&self, headers: &[(&str, &str)], body: Bytes) -> anyhow::Result<()> {
        #[derive(serde::Deserialize)]
        struct Page<'a> {
            #[serde(borrow, rename = "Documents")]
            documents: Vec<&'a RawValue>,
        }
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let mut continuation = Some(String::new());
        while let Some(token) = continuation {
            let token = Some(("x-ms-continuation", &*token)).filter(|(_, token)| !token.is_empty());
            let headers: Vec<_> = headers.iter().copied().chain(token).collect();
            let (headers, page) = self.send(&headers, body.clone()).await?;
            let page: Page<'_> = serde_json::from_slice(&page)?;
            for document in page.documents {
                writeln!(out, "{document}")?;
            }
            let next = headers.get("x-ms-continuation");
            continuation = next.map(|token| token.to_str().map(str::to_owned)).transpose()?;
        }
        Ok(out.flush()?)
    }

    async fn import(&self) -> anyhow::Result<usize> {
        let lines = std::io::stdin().lock().lines().enumerate();
        let is_empty =
            |line: &std::io::Result<String>| line.as_ref().is_ok_and(|it| it.trim().is_empty());
        let lines = lines.filter(|(_, line)| !is_empty(line));
        let writes = stream::iter(lines).map(|(number, line)| async move {
            let headers = [("x-ms-documentdb-is-upsert", "True"), ("prefer", "return=minimal")];
            let written = self.send(&headers, Bytes::from(line?)).await;
            written.map(|_| 1).with_context(|| format!("line {}", number.saturating_add(1)))
        });
        let writes = writes.buffer_unordered(IMPORTS_AT_ONCE);
        writes.try_fold(0, |sum, one| async move { Ok(sum + one) }).await
    }
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Query { container, text } => {
                let headers = [
                    ("x-ms-documentdb-isquery", "True"),
                    ("x-ms-documentdb-query-enablecrosspartition", "True"),
                    ("x-store-merges-partitions", "True"),
                    ("content-type", "application/query+json"),
                ];
                let body = Bytes::from(json!({"query": text}).to_string());
                Items::open(container).await?.print_pages(&headers, body).await
            }
            Self::Export(container) => {
                let headers = [("x-ms-max-item-count", "-1")];
                Items::open(container).await?.print_pages(&headers, Bytes::new()).await
            }
            Self::Import(container) => {
                let imported = Items::open(container).await?.import().await?;
                eprintln!("{imported} items are imported");
                Ok(())
            }
        }
    }
}
