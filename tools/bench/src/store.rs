//! The local store alone: how long its answers take, at 1,000 items and at many, over HTTP.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use cosmos_store::http::{WELL_KNOWN_KEY, authorization};
use futures::future::try_join_all;
use http::{HeaderName, Method};
use serde_json::{Value, json};
use tributary_local::client::{Call, Client, Reply};

use crate::{
    machine,
    process::Process,
    report::{self, Sorted, Table},
};

#[derive(Debug, clap::Args)]
pub(crate) struct StoreOptions {
    /// The items of the large container, of 1 KB each.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    items: usize,

    /// Requests of each kind.
    #[arg(long, value_name = "N", default_value_t = 500)]
    requests: usize,

    /// The folder that keeps the data, instead of the memory.
    #[arg(long, value_name = "DIR")]
    data: Option<std::path::PathBuf>,
}

const CONNECTIONS: usize = 16;
const SMALL: usize = 1_000;
const DATE: &str = "Sat, 21 Nov 2026 12:00:00 GMT";

const PARTITION_KEY: HeaderName = HeaderName::from_static("x-ms-documentdb-partitionkey");

/// Killed on drop.
struct Store {
    child: Child,
    url: String,
}

impl Drop for Store {
    fn drop(&mut self) {
        // It fails only if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Store {
    fn start(options: &StoreOptions) -> anyhow::Result<Self> {
        let program = env::current_exe()?.with_file_name("cosmos-store");
        let mut command = Command::new(&program);
        command.args(["--port", "0"]).stdout(Stdio::piped());
        if let Some(folder) = &options.data {
            command.arg("--data").arg(folder);
        }
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let stdout = child.stdout.take().context("the store has no output")?;
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready)?;
        let ready: Value = serde_json::from_str(&ready).context("the store says no address")?;
        let url = ready["cosmos"].as_str().context("the store says no address")?.to_owned();
        Ok(Self { child, url })
    }

    fn process(&self) -> Process {
        Process(self.child.id())
    }
}

/// A container with items, over one connection.
struct Items<'a> {
    client: Client,
    store: &'a Store,
    container: String,
    count: usize,
}

fn item(number: usize) -> Value {
    json!({
        "id": format!("p{number}"), "postId": format!("p{number}"), "type": "post", "feed": number % 10_000,
        "userId": format!("u{}", number % 1_000), "userUsername": "A name", "title": "The title of a post",
        "content": "x".repeat(700), "commentCount": 3, "likeCount": 0, "creationDate": number,
    })
}

impl Items<'_> {
    async fn send(&self, method: Method, path: &str, call: Call) -> anyhow::Result<Reply> {
        let path = format!("{}{path}", self.container);
        let header = authorization(method.as_str(), &path, DATE, WELL_KNOWN_KEY);
        let call = Call { method, path, ..call }
            .header(HeaderName::from_static("authorization"), header)
            .header(HeaderName::from_static("x-ms-date"), DATE);
        let reply = self.client.send(&call).await?;
        if !reply.status.is_success() && reply.status.as_u16() != 304 {
            bail!("{} {}: {} {}", call.method, call.path, reply.status, reply.text());
        }
        Ok(reply)
    }

    fn at(&self, number: usize) -> Call {
        let key = format!("[\"p{}\"]", number % self.count);
        Call::get("").header(PARTITION_KEY, key)
    }

    /// Fills the container over several connections; returns how many items a second it took.
    async fn filled(&self) -> anyhow::Result<Duration> {
        let next = AtomicUsize::new(0);
        let work = (0..CONNECTIONS).map(async |_| {
            let one = self.another()?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.count {
                    return anyhow::Ok(());
                }
                let call = one.at(number).json(item(number));
                let call =
                    call.header(HeaderName::from_static("x-ms-documentdb-is-upsert"), "True");
                one.send(Method::POST, "/docs", call).await?;
            }
        });
        let began = Instant::now();
        try_join_all(work).await?;
        Ok(began.elapsed())
    }

    fn another(&self) -> anyhow::Result<Items<'_>> {
        let client = Client::new(&self.store.url)?;
        Ok(Items {
            client,
            store: self.store,
            container: self.container.clone(),
            count: self.count,
        })
    }

    async fn read(&self, number: usize) -> anyhow::Result<Reply> {
        let path = format!("/docs/p{}", number % self.count);
        self.send(Method::GET, &path, self.at(number)).await
    }

    /// A like: a batch of the like and of its post.
    async fn like(&self, number: usize) -> anyhow::Result<Reply> {
        let id = number % self.count;
        let like = json!({"id": format!("l{number}"), "postId": format!("p{id}"), "type": "like"});
        let batch = json!([
            {"operationType": "Upsert", "resourceBody": like},
            {"operationType": "Upsert", "resourceBody": item(id)},
        ]);
        let call = self.at(number).json(batch);
        let call = call.header(HeaderName::from_static("x-ms-cosmos-is-batch-request"), "True");
        let call = call.header(HeaderName::from_static("x-ms-cosmos-batch-atomic"), "True");
        self.send(Method::POST, "/docs", call).await
    }

    async fn poll(&self, etag: Option<&str>) -> anyhow::Result<Reply> {
        let mut call = Call::get("")
            .header(HeaderName::from_static("a-im"), "Incremental Feed")
            .header(HeaderName::from_static("x-ms-documentdb-partitionkeyrangeid"), "0");
        if let Some(etag) = etag {
            call = call.header(HeaderName::from_static("if-none-match"), etag);
        }
        self.send(Method::GET, "/docs", call).await
    }

    async fn query(&self, text: &str, limit: usize) -> anyhow::Result<Reply> {
        let call = Call::get("").json(json!({"query": text, "parameters": []}));
        let call = call
            .header(HeaderName::from_static("x-ms-documentdb-isquery"), "True")
            .header(HeaderName::from_static("x-ms-max-item-count"), limit.to_string())
            .header(HeaderName::from_static("x-ms-documentdb-partitionkeyrangeid"), "0");
        self.send(Method::POST, "/docs", call).await
    }
}

/// Returns the median of the times of the answers, and the mean of the store's processor time.
async fn timed(
    items: &Items<'_>,
    count: usize,
    request: impl AsyncFn(usize) -> anyhow::Result<Reply>,
) -> anyhow::Result<[String; 2]> {
    request(0).await?;
    let before = items.store.process().cpu_time()?;
    let mut times = Vec::new();
    for number in 0..count {
        let began = Instant::now();
        // Spread over all items, the same ones in each run.
        request(number * 7_919).await?;
        times.push(began.elapsed());
    }
    let cpu = items.store.process().cpu_time()?.saturating_sub(before);
    let micros = cpu.as_secs_f64() * 1e6 / report::number(count);
    Ok([report::milliseconds(Sorted::from(times).percentile(50)), format!("{micros:.0}")])
}

const FRONT_PAGE: &str = "SELECT TOP 100 c.id, c.postId, c.userId, c.userUsername, c.title, c.commentCount, c.likeCount, \
                          c.creationDate FROM c WHERE c.type = 'post' ORDER BY c.creationDate DESC";

pub(crate) async fn run(options: &StoreOptions) -> anyhow::Result<()> {
    println!("{}\n", machine::line());
    let store = Store::start(options)?;
    let mut table = Table::new(["request", "items", "median, ms", "processor of the store, µs"]);
    for count in [SMALL, options.items] {
        let client = Client::new(&store.url)?;
        let items = Items { client, store: &store, container: String::new(), count };
        let database = json!({"id": format!("d{count}")});
        items.send(Method::POST, "/dbs", Call::get("").json(database)).await?;
        let key = json!({"paths": ["/postId"], "kind": "Hash", "version": 2});
        let container = json!({"id": "posts", "partitionKey": key});
        let path = format!("/dbs/d{count}/colls");
        items.send(Method::POST, &path, Call::get("").json(container)).await?;
        let items = Items { container: format!("{path}/posts"), ..items };
        let took = items.filled().await?;
        let memory = items.store.process().memory()?.resident;
        println!(
            "{count} items: {} upserts a second, {} MiB",
            report::rate(count, took),
            report::mebibytes(memory)
        );
        let mut etag = None;
        loop {
            let page = items.poll(etag.as_deref()).await?;
            etag = page.header(&HeaderName::from_static("etag")).map(str::to_owned);
            if page.status.as_u16() == 304 {
                break;
            }
        }
        let n = options.requests;
        // An index is built by the first query that wants it.
        for query in [FRONT_PAGE, "SELECT * FROM c ORDER BY c.creationDate"] {
            items.query(query, 20).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let rows = [
            (
                "poll without news",
                timed(&items, n, async |_| items.poll(etag.as_deref()).await).await?,
            ),
            ("point read", timed(&items, n, async |number| items.read(number).await).await?),
            ("like", timed(&items, n, async |number| items.like(number).await).await?),
            (
                "page of 20",
                timed(&items, n, async |_| {
                    items.query("SELECT * FROM c ORDER BY c.creationDate", 20).await
                })
                .await?,
            ),
            (
                "front page of 100",
                timed(&items, n, async |_| items.query(FRONT_PAGE, 100).await).await?,
            ),
        ];
        for (name, [median, cpu]) in rows {
            table.row([name.to_owned(), count.to_string(), median, cpu]);
        }
    }
    println!("\n{table}");
    Ok(())
}
