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
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
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

/// A store that runs, or that this command runs.
struct Store {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    _own: Option<Server>,
}

impl Store {
    async fn open(arguments: ContainerArguments) -> anyhow::Result<Self> {
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
        Ok(Self { client: Client::builder(TokioExecutor::new()).build_http(), url, _own: own })
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> anyhow::Result<Response<Bytes>> {
        let url = &self.url;
        let format = format_description!(
            "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
        );
        let date = OffsetDateTime::now_utc().format(format)?;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{url}{path}"))
            .header("authorization", authorization(method, path, &date, WELL_KNOWN_KEY))
            .header("x-ms-date", date);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.request(request.body(Full::new(body))?).await;
        let response = response.with_context(|| {
            format!("no store answers at {url}: start it, or name its folder with --data")
        })?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if !parts.status.is_success() {
            let refusal: Value = serde_json::from_slice(&body).unwrap_or_default();
            bail!("{}: {}", parts.status, refusal["message"].as_str().unwrap_or_default());
        }
        Ok(Response::from_parts(parts, body))
    }
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let path = |container: &ContainerArguments| {
            let names = [&container.database, &container.container];
            let [database, name] = names.map(|name| utf8_percent_encode(name, NON_ALPHANUMERIC));
            format!("/dbs/{database}/colls/{name}/docs")
        };
        match self {
            Self::Query { container, text } => {
                let body = Bytes::from(json!({"query": text}).to_string());
                let headers = [
                    ("x-ms-documentdb-isquery", "True"),
                    ("x-ms-documentdb-query-enablecrosspartition", "True"),
                    ("x-store-merges-partitions", "True"),
                    ("content-type", "application/query+json"),
                ];
                let path = path(&container);
                print_pages(&Store::open(container).await?, "POST", &path, &headers, &body).await
            }
            Self::Export(container) => {
                let headers = [("x-ms-max-item-count", "-1")];
                let path = path(&container);
                let store = Store::open(container).await?;
                print_pages(&store, "GET", &path, &headers, &Bytes::new()).await
            }
            Self::Import(container) => {
                let path = path(&container);
                let imported = import(&Store::open(container).await?, &path).await?;
                eprintln!("{imported} items are imported");
                Ok(())
            }
        }
    }
}

async fn print_pages(
    store: &Store,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Bytes,
) -> anyhow::Result<()> {
    #[derive(serde::Deserialize)]
    struct Page<'a> {
        #[serde(borrow, rename = "Documents")]
        documents: Vec<&'a RawValue>,
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut continuation: Option<String> = None;
    loop {
        let mut headers = headers.to_vec();
        if let Some(token) = &continuation {
            headers.push(("x-ms-continuation", token));
        }
        let response = store.send(method, path, &headers, body.clone()).await?;
        let page: Page<'_> = serde_json::from_slice(response.body())?;
        for document in page.documents {
            writeln!(out, "{document}")?;
        }
        let next = response.headers().get("x-ms-continuation");
        continuation = next.map(|token| token.to_str().map(str::to_owned)).transpose()?;
        if continuation.is_none() {
            break;
        }
    }
    Ok(out.flush()?)
}

async fn import(store: &Store, path: &str) -> anyhow::Result<usize> {
    let lines = std::io::stdin().lock().lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.as_ref().is_ok_and(|line| line.trim().is_empty()));
    let writes = stream::iter(lines).map(|(number, line)| async move {
        let headers = [("x-ms-documentdb-is-upsert", "True"), ("prefer", "return=minimal")];
        let written = store.send("POST", path, &headers, Bytes::from(line?)).await;
        written.map(|_| 1).with_context(|| format!("line {}", number.saturating_add(1)))
    });
    writes
        .buffer_unordered(IMPORTS_AT_ONCE)
        .try_fold(0, |sum, one| async move { Ok(sum + one) })
        .await
}
