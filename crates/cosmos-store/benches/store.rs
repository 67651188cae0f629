//! What requests take of time and of the store's processor, at 1,000 items and at many: `cargo xtask bench store`.
//! `docs/performance.md` has the figures.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Parser as _;
use cosmos_store::http::{WELL_KNOWN_KEY, authorization};
use serde_json::{Value, json};

/// Measures the release build of the store, over HTTP on this machine.
#[derive(Debug, clap::Parser)]
struct Options {
    /// The items of the large container, of 1 KB each.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    items: usize,
    /// Requests of each kind in a round.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    requests: usize,
    /// Rounds, of which the best one counts: other programs disturb some of them.
    #[arg(long, value_name = "N", default_value_t = 12)]
    rounds: usize,
    /// The folder that keeps the data, instead of the memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Is what cargo passes.
    #[arg(long, hide = true)]
    bench: bool,
}

const CONNECTIONS: usize = 16;
const SMALL: usize = 1_000;
const DATE: &str = "sat, 21 nov 2026 12:00:00 gmt";
const RANGE: &str = "x-ms-documentdb-partitionkeyrangeid: 0\r\n";
const BATCH: &str = "x-ms-cosmos-is-batch-request: True\r\nx-ms-cosmos-batch-atomic: True\r\n";
const QUERY: &str =
    "x-ms-documentdb-isquery: True\r\nx-ms-documentdb-populatequerymetrics: True\r\n";
const PAGE: &str = "SELECT * FROM c ORDER BY c.creationDate";
/// Q6 of the article, as the handler asks it.
const FRONT_PAGE: &str = "SELECT TOP 100 c.id, c.postId, c.userId, c.userUsername, c.title, c.content, c.commentCount, \
                          c.likeCount, c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
                          ORDER BY c.creationDate DESC, c.id DESC";

/// The store's process, which is killed on drop.
struct Store {
    child: Child,
    authority: String,
}

impl Drop for Store {
    fn drop(&mut self) {
        // It fails only if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Store {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cosmos-store"));
        command.args(["--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(folder) = &options.data {
            command.arg("--data").arg(folder);
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().context("the store has no output")?;
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready)?;
        let ready: Value = serde_json::from_str(&ready).context("the store says no address")?;
        let url = ready["cosmos"].as_str().context("the store says no address")?;
        let authority = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, authority })
    }

    /// Returns the processor time that it has taken so far: fields 14 and 15 of `/proc/<pid>/stat`, in ticks of 10 ms.
    fn processor(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Returns its physical memory, in MiB.
    fn memory(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS")?;
        Ok(kib.parse::<u64>()? / 1_024)
    }
}

struct Answer {
    etag: String,
    metrics: String,
    status: u16,
}

struct Connection<'a> {
    stream: BufReader<TcpStream>,
    store: &'a Store,
    container: String,
}

impl<'a> Connection<'a> {
    fn open(store: &'a Store, container: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&store.authority)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), store, container: container.to_owned() })
    }

    /// Sends a request, and reads its answer to the end. It does no more than that: it shares the machine.
    fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> anyhow::Result<Answer> {
        let path = format!("{}{path}", self.container);
        let signature = authorization(method, &path, DATE, WELL_KNOWN_KEY);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {signature}\r\nx-ms-date: {DATE}\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            self.store.authority,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).context("no answer")?.parse::<u16>()?;
        let mut answer = Answer { etag: String::new(), metrics: String::new(), status };
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                None => break,
                Some(("content-length", value)) => length = value.parse()?,
                Some(("etag", value)) => value.clone_into(&mut answer.etag),
                Some(("x-ms-documentdb-query-metrics", value)) => {
                    value.clone_into(&mut answer.metrics);
                }
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if !matches!(status, 200..=299 | 304) {
            bail!("{method} {path}: {status} {}", String::from_utf8_lossy(&body));
        }
        Ok(answer)
    }

    fn upsert(&mut self, key: &str, item: &Value) -> anyhow::Result<Answer> {
        let headers = format!("{}x-ms-documentdb-is-upsert: True\r\n", of_key(key));
        self.send("POST", "/docs", &headers, &item.to_string())
    }

    fn read(&mut self, id: &str) -> anyhow::Result<Answer> {
        self.send("GET", &format!("/docs/{id}"), &of_key(id), "")
    }

    /// A like: a batch of the like and of its post.
    fn like(&mut self, post: usize, like: usize) -> anyhow::Result<Answer> {
        let id = format!("p{post}");
        let like = json!({"id": format!("l{like}"), "postId": id, "type": "like"});
        let batch = json!([
            {"operationType": "Upsert", "resourceBody": like},
            {"operationType": "Upsert", "resourceBody": item(post)},
        ]);
        self.send("POST", "/docs", &[&of_key(&id), BATCH].concat(), &batch.to_string())
    }

    fn poll(&mut self, etag: &str) -> anyhow::Result<Answer> {
        let feed = format!("{RANGE}a-im: Incremental Feed\r\nif-none-match: {etag}\r\n");
        self.send("GET", "/docs", &feed, "")
    }

    fn query(&mut self, text: &str, scope: &str, most: usize) -> anyhow::Result<Answer> {
        let headers = format!("{scope}{QUERY}x-ms-max-item-count: {most}\r\n");
        self.send("POST", "/docs", &headers, &json!({"query": text}).to_string())
    }

    /// Asks a query until the store has the index for it: the first one that wants an index has it built.
    fn indexed(&mut self, text: &str, scope: &str, most: usize) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let answer = self.query(text, scope, most)?;
            let loaded = answer
                .metrics
                .split(';')
                .find_map(|one| one.strip_prefix("retrievedDocumentCount="));
            if loaded.context("no metrics")?.parse::<usize>()? <= most + 1 {
                return Ok(());
            }
            ensure!(began.elapsed() < Duration::from_mins(2), "no index is built for {text}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn of_key(key: &str) -> String {
    format!("x-ms-documentdb-partitionkey: [\"{key}\"]\r\n")
}

fn item(number: usize) -> Value {
    json!({
        "id": format!("p{number}"), "postId": format!("p{number}"), "type": "post", "userId": format!("u{}", number % 1_000),
        "userUsername": "A name", "title": "The title of a post", "content": "x".repeat(640), "commentCount": 3,
        "likeCount": 0, "creationDate": number,
    })
}

fn container(store: &Store, id: &str, definition: Value) -> anyhow::Result<String> {
    let mut account = Connection::open(store, "")?;
    // Another container may have created it.
    let _ = account.send("POST", "/dbs", "", r#"{"id": "d"}"#);
    let mut body = definition;
    body["id"] = json!(id);
    Connection::open(store, "")?.send("POST", "/dbs/d/colls", "", &body.to_string())?;
    Ok(format!("/dbs/d/colls/{id}"))
}

/// Creates a container of items over several connections, and returns its path and how long each upsert took.
fn filled(store: &Store, count: usize) -> anyhow::Result<(String, Duration)> {
    let definition = json!({"partitionKey": {"paths": ["/postId"], "kind": "Hash", "version": 2}});
    let path = container(store, &format!("posts{count}"), definition)?;
    let next = AtomicUsize::new(0);
    let fill = || {
        let mut connection = Connection::open(store, &path)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return anyhow::Ok(());
            }
            connection.upsert(&format!("p{number}"), &item(number))?;
        }
    };
    let began = Instant::now();
    thread::scope(|scope| {
        let all: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(fill)).collect();
        all.into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|_| bail!("a connection failed")))
    })?;
    Ok((path, began.elapsed()))
}

/// What a request takes: of time at the median, and of the store's processor on average.
#[derive(Clone, Copy)]
struct Figure {
    time: Duration,
    processor: Duration,
}

fn timed(
    store: &Store,
    count: usize,
    mut request: impl FnMut(usize) -> anyhow::Result<Answer>,
) -> anyhow::Result<Figure> {
    let before = store.processor()?;
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let began = Instant::now();
        // Spread over all items.
        request(number * 7_919)?;
        times.push(began.elapsed());
    }
    let processor = store.processor()?.saturating_sub(before) / u32::try_from(count.max(1))?;
    times.sort_unstable();
    let time = times.get(count / 2).copied().unwrap_or_default();
    Ok(Figure { time, processor })
}

const REQUESTS: [&str; 4] = ["point read", "like", "poll without news", "page of 20"];

/// Measures a round of requests, in the order of `REQUESTS`.
fn round(store: &Store, path: &str, items: usize, n: usize) -> anyhow::Result<[Figure; 4]> {
    let mut to = Connection::open(store, path)?;
    let read = timed(store, n, |number| to.read(&format!("p{}", number % items)))?;
    let like = timed(store, n, |number| to.like(number % items, number))?;
    let mut etag = to.poll("*")?.etag;
    let poll = timed(store, n, |_| {
        let answer = to.poll(&etag)?;
        ensure!(answer.status == 304, "there is news");
        etag.clone_from(&answer.etag);
        Ok(answer)
    })?;
    let page = timed(store, n, |_| to.query(PAGE, RANGE, 20))?;
    Ok([read, like, poll, page])
}

fn front_page(store: &Store) -> anyhow::Result<String> {
    let order = |path, order| json!({"path": path, "order": order});
    let definition = json!({
        "partitionKey": {"paths": ["/type"], "kind": "Hash", "version": 2},
        "indexingPolicy": {"compositeIndexes": [[order("/creationDate", "descending"), order("/id", "descending")]]},
    });
    let path = container(store, "feed", definition)?;
    let mut to = Connection::open(store, &path)?;
    for number in 0..130 {
        let mut item = item(number);
        if number % 13 == 0 {
            // The feed has tombstones among its posts.
            item.as_object_mut().map(|item| item.remove("creationDate"));
        }
        to.upsert("post", &item)?;
    }
    Ok(path)
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let store = Store::start(&options)?;
    let mut containers = Vec::new();
    for count in [SMALL, options.items] {
        let (path, took) = filled(&store, count)?;
        let rate = f64::from(u32::try_from(count)?) / took.as_secs_f64();
        println!("{count} items: {rate:.0} upserts a second, {} MiB", store.memory()?);
        Connection::open(&store, &path)?.indexed(PAGE, RANGE, 20)?;
        containers.push((path, count));
    }
    println!("with an index for the page: {} MiB", store.memory()?);
    let feed = front_page(&store)?;

    let (mut rounds, mut pages) = ([Vec::new(), Vec::new()], Vec::new());
    for number in 0..options.rounds {
        // The point reads that begin a round are often the fastest, so the containers take turns.
        for place in [number % 2, 1 - number % 2] {
            let (path, count) = &containers[place];
            rounds[place].push(round(&store, path, *count, options.requests)?);
        }
        let mut to = Connection::open(&store, &feed)?;
        pages
            .push(timed(&store, options.requests, |_| to.query(FRONT_PAGE, &of_key("post"), 100))?);
    }
    println!(
        "\n| request | items | median, ms | processor of the store, µs |\n| --- | ---: | ---: | ---: |"
    );
    let row = |request: &str, items: usize, figures: Vec<Figure>| {
        let time = figures.iter().map(|one| one.time).min().unwrap_or_default();
        let processor = figures.iter().map(|one| one.processor).min().unwrap_or_default();
        println!(
            "| {request} | {items} | {:.3} | {} |",
            time.as_secs_f64() * 1e3,
            processor.as_micros()
        );
    };
    for (number, request) in REQUESTS.into_iter().enumerate() {
        for (place, (_, count)) in containers.iter().enumerate() {
            row(request, *count, rounds[place].iter().map(|figures| figures[number]).collect());
        }
    }
    row("front page of 100", 130, pages);
    Ok(())
}
