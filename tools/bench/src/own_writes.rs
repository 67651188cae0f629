//! Clients that write, and at once read every list that shows the write: at another instance, with their token,
//! behind replicas that lag.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::ensure;
use axum::http::StatusCode;
use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tributary_functions::{app::AppOptions, cosmos::BackgroundOptions};
use tributary_local::{
    chaos::Chaos,
    cosmos::EndpointOptions,
    host::{Console, FeedOptions},
};
use tributary_tools::{
    Sorted, Table,
    figures::{milliseconds, thousands},
};

use crate::{
    deployed::{World, send},
    machine,
};

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct OwnWritesOptions {
    /// The writes of all clients together.
    #[arg(long, default_value_t = 1_000)]
    rounds: usize,
    /// The clients: at most 90. Each has one post at a time, and the feed must show all of them.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=90))]
    clients: u16,
    /// The budget of the background. The renames of 40 clients take more than the default of the app, 400, and
    /// then readers wait in vain.
    #[arg(long, value_name = "RU", default_value_t = 4_000)]
    background_ru_per_second: u32,
    /// The pause of the triggers between two looks at the change feed, in milliseconds.
    #[arg(long, default_value_t = 2_000)]
    feed_delay_ms: u64,
}

/// The longest wait of a read, as its `Prefer` header has it.
const WAIT: &str = "wait=10";
/// Half of all reads ask a replica that lags by up to two seconds.
const CHAOS: &str = "stale=0.5";
/// The writes of a client before it begins again.
const KINDS: usize = 5;
/// The clients begin one after the other, over the time of a cycle: people do not rename themselves together.
const START: Duration = Duration::from_secs(10);
/// The pause between two lines of the progress.
const PROGRESS_PAUSE: Duration = Duration::from_secs(30);
/// The pause of a client whose read was refused, as the `Retry-After` of the answer has it.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// The repetitions of a refused read.
const MAX_REFUSED: usize = 30;
/// The faults that are shown one by one.
const SHOWN_FAULTS: usize = 10;

pub(crate) async fn run(options: &OwnWritesOptions) -> anyhow::Result<()> {
    let clients = usize::from(options.clients);
    let budget = options.background_ru_per_second;
    let cycles = options.rounds.div_ceil(KINDS * clients);
    println!(
        "{} writes of {clients} clients; the triggers look each {} ms; the background has {} RU a second; {}\n",
        thousands(cycles * KINDS * clients),
        options.feed_delay_ms,
        thousands(budget as usize),
        machine::line()
    );
    let chaos = Chaos::new(CHAOS.parse()?, 1);
    let endpoint = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let world = World::with_options(endpoint).await;
    prepare(&world, options.clients).await?;
    let stop = CancellationToken::new();
    let feed = FeedOptions {
        poll_delay: Some(Duration::from_millis(options.feed_delay_ms)),
        console: Console::silent(),
        ..FeedOptions::default()
    };
    let mut triggers = JoinSet::new();
    for pump in instance(&world, budget).await.pumps(&feed) {
        let stop = stop.clone();
        triggers.spawn(async move { pump.run(stop).await });
    }
    let instances = [instance(&world, budget).await, instance(&world, budget).await];
    let written = Arc::new(AtomicUsize::new(0));
    let clients = (0..options.clients).map(|n| Client::new(n, &instances, &written));
    let pause = START / u32::from(options.clients);
    let work = clients.map(|client| tokio::spawn(client.run(cycles, pause)));
    let clients = tokio::select! {
        clients = try_join_all(work) => clients?,
        never = show_progress(&written) => match never {},
    };
    stop.cancel();
    triggers.join_all().await;
    println!(
        "{} reads asked a replica that lags.\n",
        thousands(usize::try_from(chaos.reads_of_replicas())?)
    );
    report(clients)
}

/// Shows the number of writes on stderr, until it is dropped.
async fn show_progress(written: &AtomicUsize) -> Infallible {
    loop {
        sleep(PROGRESS_PAUSE).await;
        eprintln!("{} writes", thousands(written.load(Relaxed)));
    }
}

async fn instance(world: &World, request_units_per_second: u32) -> World {
    let background = BackgroundOptions {
        request_units_per_second: NonZeroU32::new(request_units_per_second),
        ..BackgroundOptions::default()
    };
    world.with_app(AppOptions { background, ..AppOptions::default() }).await
}

/// Creates what the clients need before their first round.
async fn prepare(world: &World, clients: u16) -> anyhow::Result<()> {
    let category = json!({"name": "C"});
    send(world, ("PUT", "/api/categories/c"), &[], &category).await?;
    let product = json!({"sku": "S", "name": "P", "price": 5, "tagIds": []});
    send(world, ("PUT", "/api/categories/c/products/p"), &[], &product).await?;
    for n in 0..clients {
        let user = json!({"username": format!("User {n}")});
        send(world, ("PUT", &format!("/api/users/u{n}")), &[], &user).await?;
        let address = json!({"addressLine1": "1 Main Street", "city": "Redmond", "state": "WA",
            "country": "USA", "zipCode": "98052"});
        let customer = json!({"title": "Dr.", "firstName": "Kim", "lastName": "Lee",
            "emailAddress": "kim@example.com", "phoneNumber": "555-0100", "addresses": [address]});
        send(world, ("PUT", &format!("/api/customers/k{n}")), &[], &customer).await?;
    }
    world.settle().await;
    Ok(())
}

/// The waits of the readers, by the write and the list.
type Waits = BTreeMap<(&'static str, &'static str), Vec<Duration>>;

/// A list, its path, and what shows that it has the write.
type Look<'a> = (&'static str, &'a str, &'a (dyn Fn(&Value) -> bool + Sync));

/// A user that is a customer, too.
struct Client {
    n: u16,
    writer: World,
    reader: World,
    /// That of the last write.
    token: String,
    waits: Waits,
    /// The reads that were refused and repeated, since the instance had too many requests.
    refused: usize,
    faults: Vec<String>,
    /// The writes of all clients.
    written: Arc<AtomicUsize>,
}

impl Client {
    fn new(n: u16, [one, other]: &[World; 2], written: &Arc<AtomicUsize>) -> Self {
        let (writer, reader) = if n.is_multiple_of(2) { (one, other) } else { (other, one) };
        Self {
            n,
            writer: writer.clone(),
            reader: reader.clone(),
            token: String::new(),
            waits: Waits::new(),
            refused: 0,
            faults: Vec::new(),
            written: Arc::clone(written),
        }
    }

    /// Writes and reads, until the end or an error.
    async fn run(mut self, cycles: usize, pause: Duration) -> Self {
        sleep(pause * u32::from(self.n)).await;
        for cycle in 0..cycles {
            if let Err(error) = self.cycle(cycle).await {
                self.faults.push(format!("{error:#}"));
                break;
            }
        }
        self
    }

    /// Posts, comments, takes another name, orders, and deletes the post.
    async fn cycle(&mut self, cycle: usize) -> anyhow::Result<()> {
        let (n, id) = (self.n, format!("p{}-{cycle}", self.n));
        let user = format!("/api/users/u{n}");
        let post = format!("/api/posts/{id}");
        let [own, comments] = [format!("{user}/posts"), format!("{post}/comments")];
        let is = |item: &Value| item["id"] == *id;
        let one = |list: &Value, shows: &dyn Fn(&Value) -> bool| {
            list["items"].as_array().is_some_and(|items| items.iter().any(shows))
        };

        let body = json!({"userId": format!("u{n}"), "title": "T", "content": "C"});
        self.write("PUT", &post, body).await?;
        let shows = |list: &Value| one(list, &is);
        let lists: [Look; 2] = [("own posts", &own, &shows), ("feed", "/api/feed", &shows)];
        self.read("post", &lists).await?;

        let body = json!({"userId": format!("u{n}"), "content": "C"});
        self.write("POST", &comments, body).await?;
        let shows = |list: &Value| one(list, &|item| is(item) && item["commentCount"] == 1);
        let has_one = |list: &Value| list["items"].as_array().is_some_and(|items| items.len() == 1);
        let lists: [Look; 3] = [
            ("comments", &comments, &has_one),
            ("own posts", &own, &shows),
            ("feed", "/api/feed", &shows),
        ];
        self.read("comment", &lists).await?;

        let name = format!("User {n} in cycle {cycle}");
        self.write("PUT", &user, json!({"username": name})).await?;
        let shows = |list: &Value| one(list, &|item| is(item) && item["userUsername"] == *name);
        let has_name = |list: &Value| one(list, &|item| item["userUsername"] == *name);
        let lists: [Look; 3] = [
            ("comments", &comments, &has_name),
            ("own posts", &own, &shows),
            ("feed", "/api/feed", &shows),
        ];
        self.read("rename", &lists).await?;

        let customer = format!("/api/customers/k{n}");
        let orders = format!("{customer}/orders");
        let order = json!({"items": [{"categoryId": "c", "productId": "p", "quantity": 1}]});
        let order = self.write("POST", &orders, order).await?;
        let order = |list: &Value| one(list, &|item| item["id"] == order["id"]);
        let count = |customer: &Value| customer["salesOrderCount"] == cycle + 1;
        let of_report =
            |list: &Value| one(list, &|item| item["id"] == format!("k{n}") && count(item));
        let lists: [Look; 3] = [
            ("orders", &orders, &order),
            ("customer", &customer, &count),
            ("leaderboard", "/api/reports/top-customers?source=leaderboard&limit=100", &of_report),
        ];
        self.read("order", &lists).await?;

        self.write("DELETE", &post, Value::Null).await?;
        let lacks = |list: &Value| !one(list, &is);
        let lists: [Look; 2] = [("own posts", &own, &lacks), ("feed", "/api/feed", &lacks)];
        self.read("delete", &lists).await
    }

    /// Sends a command, and keeps its token.
    async fn write(&mut self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        let token = [("consistency-token", self.token.as_str())];
        let headers = if self.token.is_empty() { &[][..] } else { &token };
        let answer = send(&self.writer, (method, path), headers, &body).await?;
        let token = answer.header("consistency-token").to_owned();
        ensure!(!token.is_empty(), "{method} {path} has no token");
        self.token = token;
        self.written.fetch_add(1, Relaxed);
        Ok(if answer.text.is_empty() { Value::Null } else { answer.json() })
    }

    /// Reads all lists at the same time, each once.
    async fn read(&mut self, write: &'static str, lists: &[Look<'_>]) -> anyhow::Result<()> {
        let headers = [("consistency-token", self.token.as_str()), ("prefer", WAIT)];
        let reads = lists.iter().map(async |(_, path, shows)| {
            let began = Instant::now();
            let mut refused = 0;
            let answer = loop {
                let answer = self.reader.call("GET", path, &headers, None).await;
                if answer.status != StatusCode::SERVICE_UNAVAILABLE || refused == MAX_REFUSED {
                    break answer;
                }
                refused += 1;
                sleep(REFUSED_PAUSE).await;
            };
            let took = began.elapsed();
            ensure!(answer.status.is_success(), "GET {path}: {} {}", answer.status, answer.text);
            let fault = match answer.header("copies-behind") {
                "" if shows(&answer.json()) => None,
                "" => Some(format!("{write}: {path} lacks it: {}", answer.text)),
                behind => Some(format!("{write}: {path} waited in vain: {behind}")),
            };
            Ok((took, refused, fault))
        });
        for ((list, ..), read) in lists.iter().zip(join_all(reads).await) {
            let (took, refused, fault) = read?;
            self.refused += refused;
            self.waits.entry((write, list)).or_default().push(took);
            self.faults.extend(fault);
        }
        Ok(())
    }
}

/// Prints how long the readers waited.
///
/// # Errors
///
/// If a list lacked a write.
fn report(clients: Vec<Client>) -> anyhow::Result<()> {
    let mut waits = Waits::new();
    let (mut refused, mut faults) = (0, Vec::new());
    for client in clients {
        refused += client.refused;
        for (key, times) in client.waits {
            waits.entry(key).or_default().extend(times);
        }
        faults.extend(client.faults);
    }
    let mut table = Table::new(["write", "list", "reads", "p50, ms", "p99, ms", "longest, ms"]);
    for ((write, list), times) in waits {
        let (reads, times) = (times.len(), Sorted::from(times));
        let times = [times.percentile(50), times.percentile(99), times.max()].map(milliseconds);
        let names = [write.to_owned(), list.to_owned(), thousands(reads)];
        table.row(names.into_iter().chain(times));
    }
    println!("{table}");
    println!("{refused} reads were refused with a 503, and repeated.");
    // The others are rare, and say more.
    faults.sort_by_key(|fault| fault.contains("waited in vain"));
    for fault in faults.iter().take(SHOWN_FAULTS) {
        println!("{fault}");
    }
    ensure!(faults.is_empty(), "{} reads did not show the write of their client", faults.len());
    println!("Each read showed the write of its client.");
    Ok(())
}
