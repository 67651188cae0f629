//! The news: the rates at which items are posted, one by one and in bulk, and the time of readers'
//! queries over months of them.
//!
//! A real handler runs on the local endpoint. Every provider has published as many items, evenly over
//! the time. The first items are posted one by one by several clients, the others in batches by as many
//! clients, each batch from one provider, as a crawler sends them.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures::future::try_join_all;
use http::{HeaderName, Method};
use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_tools::{
    Call, Sorted, Table,
    figures::{each, milliseconds, number, thousands},
};

use crate::{handler::MeasuredHandler, http::Connection, machine, world::BenchWorld};

/// The size of the measurement, and the build.
#[derive(Debug, clap::Args)]
pub(crate) struct NewsOptions {
    /// The number of items in the end.
    #[arg(long, default_value_t = 20_000)]
    items: usize,
    /// The number of their providers.
    #[arg(long, default_value_t = 50)]
    providers: usize,
    /// The number of days of their publication, up to now.
    #[arg(long, default_value_t = 730)]
    days: u32,
    /// The number of items that are posted one by one.
    #[arg(long, default_value_t = 1_000)]
    singly: usize,
    /// The number of clients that post.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// The number of physical partitions of each container. The local store copies the items of one for
    /// a transaction, which a real one does not: many partitions show ingest better. A hot container
    /// has one or two: one partition shows queries better.
    #[arg(long, default_value_t = 64)]
    physical_partitions: u32,
    /// The number of times that each query is sent.
    #[arg(long, default_value_t = 50)]
    queries: usize,
    /// The handler's executable; without it the one beside this program.
    #[arg(long, value_name = "PATH")]
    handler: Option<PathBuf>,
}

/// The items of a batch at most.
const MAX_BATCH_ITEMS: usize = 500;

const CONTAINERS: HeaderName = HeaderName::from_static("x-containers-queried");
const PARTITIONS: HeaderName = HeaderName::from_static("x-partitions-queried");

/// The queries of the guide's "Performance Characteristics", and their form here.
const QUERIES: [(&str, &str); 6] = [
    ("recent feeds, 7 days", "items?days=7"),
    ("provider feeds, 30 days", "items?provider=p7&days=30"),
    ("search across 3 months", "search?q=river&from="),
    ("search of a provider across 3 months", "search?q=river&provider=p7&from="),
    ("all providers, 30 days", "items?days=30"),
    ("a provider's items of 3 months, 100 of them", "items?limit=100&provider=p7&from="),
];

pub(crate) async fn run(options: &NewsOptions) -> anyhow::Result<()> {
    let NewsOptions { items, providers, singly, clients, .. } = *options;
    ensure!(
        providers > 7 && clients > 0 && singly > 0 && items >= singly + providers,
        "--providers is at least 8, --singly and --clients at least 1, --items more than both"
    );
    let world = BenchWorld::with_partitions(options.physical_partitions).await?;
    let executable = options.handler.clone().unwrap_or_else(|| world.app.executable());
    let mut handler = MeasuredHandler::start(&world.app, &executable, |_| ())?;
    handler.ready().await?;
    println!("{}\n", machine::line());

    let now = Timestamp::now();
    let item = |n: usize| item(n, options, now);
    let posts = (0..singly).map(|n| Call::new(Method::POST, "/api/news/items").json(item(n)));
    let one_by_one = send(&handler, posts.collect(), clients).await?;
    let batches = batches(options).into_iter().map(|numbers| {
        let items: Vec<Value> = numbers.into_iter().map(item).collect();
        Call::new(Method::POST, "/api/news/items/batch").json(json!({"items": items}))
    });
    let in_bulk = send(&handler, batches.collect(), clients).await?;

    let mut table = Table::new(["ingest", "items", "items/s", "request units, each"]);
    let bulk = items - singly;
    let rates = [(singly, &one_by_one), (bulk, &in_bulk)]
        .map(|(count, sent)| number(count) / sent.took.as_secs_f64());
    for (name, count, sent, rate) in
        [("one by one", singly, &one_by_one, rates[0]), ("in bulk", bulk, &in_bulk, rates[1])]
    {
        table.row([
            name.into(),
            thousands(count),
            format!("{rate:.0}"),
            each(sent.charge, count, 1),
        ]);
    }
    println!("{table}\nIn bulk, {:.1} times as many items a second.\n", rates[1] / rates[0]);

    let mut table =
        Table::new(["query", "containers", "partitions", "request units", "p50, ms", "items"]);
    let connection = Connection::new(handler.address)?;
    let since = now.before(Duration::from_hours(90 * 24)).to_string();
    for (name, query) in QUERIES {
        let from = if query.ends_with('=') { &since } else { "" };
        let call = Call::get(format!("/api/news/{query}{from}"));
        let mut took = Vec::new();
        let mut last = None;
        for _ in 0..options.queries.max(1) {
            let started = Instant::now();
            let reply = connection.send(&call, "query").await?;
            took.push(started.elapsed());
            ensure!(reply.status.is_success(), "{query} was answered {}", reply.status);
            last = Some(reply);
        }
        let Some(reply) = last else { continue };
        let header = |name| reply.header(name).unwrap_or_default().to_owned();
        table.row([
            name.into(),
            header(&CONTAINERS),
            header(&PARTITIONS),
            format!("{:.1}", reply.charge()),
            milliseconds(Sorted::from(took).percentile(50)),
            reply.json()["items"].as_array().map_or(0, Vec::len).to_string(),
        ]);
    }
    println!("{table}");
    handler.stop().await
}

/// Returns the item with a number: providers in turn, evenly over the days.
fn item(n: usize, options: &NewsOptions, now: Timestamp) -> Value {
    let age = u64::from(options.days) * 24 * 60 * 60 * n as u64 / options.items.max(1) as u64;
    let provider = n % options.providers;
    let published = now.before(Duration::from_secs(age));
    json!({
        "feedProviderId": format!("p{provider}"),
        "title": format!("Item {n} of a usual title's length"),
        "content": "Small streams feed the river that people read from. ".repeat(28),
        "publishedDate": published,
        "sourceUrl": format!("https://p{provider}.example.com/{n}"),
        "tags": ["world", "streams"],
    })
}

/// Returns the numbers of the items of each batch: all of one provider.
fn batches(options: &NewsOptions) -> Vec<Vec<usize>> {
    let of_provider = |provider| {
        (options.singly..options.items)
            .filter(|n| n % options.providers == provider)
            .collect::<Vec<_>>()
    };
    let providers = (0..options.providers).map(of_provider);
    providers
        .flat_map(|numbers| numbers.chunks(MAX_BATCH_ITEMS).map(<[_]>::to_vec).collect::<Vec<_>>())
        .collect()
}

/// The time and the cost of all requests.
struct Sent {
    took: Duration,
    charge: f64,
}

async fn send(handler: &MeasuredHandler, calls: Vec<Call>, clients: usize) -> anyhow::Result<Sent> {
    let started = Instant::now();
    let shares = calls.chunks(calls.len().div_ceil(clients).max(1)).map(async |calls| {
        let connection = Connection::new(handler.address)?;
        let mut charge = 0.0;
        for call in calls {
            let reply = connection.send(call, "ingest").await?;
            let failed = reply.json()["failed"].as_u64().unwrap_or(0);
            ensure!(
                reply.status.is_success() && failed == 0,
                "{} was answered {}, {failed} failed",
                call.path,
                reply.status
            );
            charge += reply.charge();
        }
        anyhow::Ok(charge)
    });
    let charges = try_join_all(shares).await?;
    Ok(Sent { took: started.elapsed(), charge: charges.into_iter().sum() })
}
