//! Eager projections: the same commands with and without them.
//!
//! The app runs in this process, at two instances, with the local endpoint, which takes some milliseconds for
//! each request as a store behind a network does. A command goes to one instance, and its reader to the other.

use std::time::{Duration, Instant};

use anyhow::ensure;
use futures::{StreamExt, TryStreamExt, future::join, stream};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;
use tributary_functions::{
    app::AppOptions,
    projection::{EagerOptions, ProjectionOptions},
};
use tributary_local::{
    cosmos::EndpointOptions,
    host::{Console, FeedOptions},
};
use tributary_testing::budget::{is_caused_by_a_change, request_units};
use tributary_tools::{
    Sorted, Table,
    figures::{each, milliseconds, number},
};

use crate::{
    deployed::{World, send},
    machine,
};

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct EagerBenchOptions {
    /// The number of commands of each kind, each on another item.
    #[arg(long, default_value_t = 100)]
    commands: usize,
    /// The time that a request to the store takes, in milliseconds.
    #[arg(long, default_value_t = 5)]
    store_ms: u64,
    /// The readers whose wait is measured.
    #[arg(long, default_value_t = 15)]
    readers: usize,
    /// The pauses of the triggers between two looks at the change feed, in milliseconds.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 2_000])]
    feed_delays_ms: Vec<u64>,
}

/// A kind of command, and the projections of its changes.
struct Command {
    what: &'static str,
    projections: &'static [&'static str],
    /// The container and the type of the items whose changes the projections apply.
    changes: (&'static str, &'static str),
    /// Returns the requests that create the items of a number of commands.
    prepare: fn(usize) -> Vec<(&'static str, String, Value)>,
    /// Returns the command with a number.
    request: fn(usize) -> (&'static str, String, Value),
}

/// The kinds of commands.
#[rustfmt::skip]
const COMMANDS: [Command; 9] = [
    Command { what: "a new post", projections: &["PostCopiesInUsers"], changes: ("posts", "post"), prepare: full_feed, request: new_post },
    Command { what: "an edited post", projections: &["PostCopiesInUsers"], changes: ("posts", "post"), prepare: full_feed, request: edited_post },
    Command { what: "a deleted post", projections: &["PostCopiesInUsers"], changes: ("posts", "deletedPost"), prepare: more_than_the_feed, request: deleted_post },
    Command { what: "a like", projections: &["PostCopiesInUsers"], changes: ("posts", "post"), prepare: full_feed, request: like },
    Command { what: "a new post", projections: &["HomeFeed"], changes: ("posts", "post"), prepare: full_feed, request: new_post },
    Command { what: "a deleted post of the full feed", projections: &["HomeFeed"], changes: ("posts", "deletedPost"), prepare: more_than_the_feed, request: deleted_post },
    Command { what: "a renamed user with 20 posts", projections: &["UsernamesInPosts"], changes: ("users", "user"), prepare: posts_of_users, request: renamed_user },
    Command { what: "an order", projections: &["Leaderboard"], changes: ("customer", "customer"), prepare: customers, request: order },
    Command { what: "a renamed tag of 20 products", projections: &["LabelNames"], changes: ("productMeta", "tag"), prepare: products, request: renamed_tag },
];

fn user(n: usize) -> (&'static str, String, Value) {
    ("PUT", format!("/api/users/u{n}"), json!({"username": format!("User {n}")}))
}

fn post(n: usize, user: usize, title: &str) -> (&'static str, String, Value) {
    let content = "A text of some length. ".repeat(50);
    let body = json!({"userId": format!("u{user}"), "title": title, "content": content});
    ("PUT", format!("/api/posts/p{n}"), body)
}

fn full_feed(commands: usize) -> Vec<(&'static str, String, Value)> {
    let posts = (0..commands.max(100)).map(|n| post(n, n % 10, "A title"));
    (0..10).map(user).chain(posts).collect()
}

fn more_than_the_feed(commands: usize) -> Vec<(&'static str, String, Value)> {
    full_feed(commands + 100)
}

fn posts_of_users(commands: usize) -> Vec<(&'static str, String, Value)> {
    let posts = (0..20 * commands).map(|n| post(n, n / 20, "A title"));
    (0..commands).map(user).chain(posts).collect()
}

fn new_post(n: usize) -> (&'static str, String, Value) {
    let (_, _, body) = post(n, n % 10, "A new title");
    ("POST", "/api/posts".to_owned(), body)
}

fn edited_post(n: usize) -> (&'static str, String, Value) {
    post(n, n % 10, "Another title")
}

fn deleted_post(n: usize) -> (&'static str, String, Value) {
    ("DELETE", format!("/api/posts/p{}", n + 100), Value::Null)
}

fn like(n: usize) -> (&'static str, String, Value) {
    ("PUT", format!("/api/posts/p{n}/likes/u{}", (n + 1) % 10), Value::Null)
}

fn renamed_user(n: usize) -> (&'static str, String, Value) {
    ("PUT", format!("/api/users/u{n}"), json!({"username": format!("Writer {n}")}))
}

fn tag(n: usize, name: &str) -> (&'static str, String, Value) {
    ("PUT", format!("/api/tags/t{n}"), json!({"name": name}))
}

fn product(n: usize, tag: usize) -> (&'static str, String, Value) {
    let tags = [format!("t{tag}")];
    let body = json!({"sku": format!("SKU-{n}"), "name": "A product", "price": 5, "tagIds": tags});
    ("PUT", format!("/api/categories/c/products/p{n}"), body)
}

fn products(commands: usize) -> Vec<(&'static str, String, Value)> {
    let category = ("PUT", "/api/categories/c".to_owned(), json!({"name": "C"}));
    let tags = (0..commands).map(|n| tag(n, "A tag"));
    let products = (0..20 * commands).map(|n| product(n, n / 20));
    [category].into_iter().chain(tags).chain(products).collect()
}

fn renamed_tag(n: usize) -> (&'static str, String, Value) {
    tag(n, "Another name")
}

fn customers(commands: usize) -> Vec<(&'static str, String, Value)> {
    let category = ("PUT", "/api/categories/c".to_owned(), json!({"name": "C"}));
    let sold = tag(0, "A tag");
    let customers = (0..commands).map(|n| {
        let address = json!({"addressLine1": "1 Main Street", "city": "Redmond", "state": "WA",
            "country": "USA", "zipCode": "98052"});
        let body = json!({"title": "Dr.", "firstName": "Kim", "lastName": "Lee",
            "emailAddress": "kim@example.com", "phoneNumber": "555-0100", "addresses": [address]});
        ("PUT", format!("/api/customers/k{n}"), body)
    });
    [category, sold, product(0, 0)].into_iter().chain(customers).collect()
}

fn order(n: usize) -> (&'static str, String, Value) {
    let body = json!({"items": [{"categoryId": "c", "productId": "p0", "quantity": 1}]});
    ("POST", format!("/api/customers/k{n}/orders"), body)
}

pub(crate) async fn run(options: &EagerBenchOptions) -> anyhow::Result<()> {
    println!("A request to the store takes {} ms; {}\n", options.store_ms, machine::line());
    println!("{}", costs(options).await?);
    println!("The wait of a reader at another instance for a new post\n");
    println!("{}", waits(options).await?);
    Ok(())
}

/// Measures each kind of command without and with its eager projections.
async fn costs(options: &EagerBenchOptions) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "command",
        "projections",
        "eager",
        "p50, ms",
        "p99, ms",
        "RU",
        "feed: requests a change",
        "RU",
        "at another instance: requests",
        "RU",
    ]);
    for command in &COMMANDS {
        for eager in [&[][..], command.projections] {
            eprintln!(
                "{}, {}, eager: {}",
                command.what,
                command.projections.join(", "),
                !eager.is_empty()
            );
            table.row(measure(command, eager, options).await?);
        }
    }
    Ok(table)
}

async fn measure(
    command: &Command,
    eager: &'static [&'static str],
    options: &EagerBenchOptions,
) -> anyhow::Result<Vec<String>> {
    let n = options.commands;
    let world = prepared((command.prepare)(n), options).await?;
    let instance = instance(&world, eager).await;
    let mut latencies = Vec::new();
    let mut charge = 0.0;
    for (method, path, body) in (0..n).map(command.request) {
        let began = Instant::now();
        let answer = send(&instance, (method, &path), &[], &body).await?;
        latencies.push(began.elapsed());
        charge += answer.header("x-ms-request-charge").parse::<f64>()?;
    }
    let latencies = Sorted::from(latencies);
    let (container, kind) = command.changes;
    let mut changes = world.items(container).await;
    changes.retain(|item| {
        item["type"] == kind
            && !(kind == "post" && item["version"] == 1 && item["title"] == "A title")
    });
    let mut row = vec![
        command.what.to_owned(),
        command.projections.join(", "),
        if eager.is_empty() { "no" } else { "yes" }.to_owned(),
        milliseconds(latencies.percentile(50)),
        milliseconds(latencies.percentile(99)),
        each(charge, n, 2),
    ];
    let other = self::instance(&world, eager).await;
    for instance in [&instance, &other] {
        let before = world.endpoint.request_count();
        for change in &changes {
            for function in command.projections {
                let delivered = instance.deliver(function, std::slice::from_ref(change)).await;
                delivered.map_err(anyhow::Error::msg)?;
            }
        }
        let mut requests = world.endpoint.requests_since(before);
        requests.retain(is_caused_by_a_change);
        row.push(each(number(requests.len()), changes.len(), 2));
        row.push(each(request_units(&requests), changes.len(), 2));
    }
    Ok(row)
}

/// Measures how long a reader waits for a new post in the list of its author and in the feed.
async fn waits(options: &EagerBenchOptions) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "poll delay, ms",
        "eager",
        "list",
        "with the token p50, ms",
        "p99, ms",
        "until without p50, ms",
        "p99, ms",
        "a read p50, ms",
    ]);
    for &delay in &options.feed_delays_ms {
        for eager in [&[][..], &["PostCopiesInUsers", "HomeFeed"]] {
            eprintln!("readers, poll delay {delay} ms, eager: {}", !eager.is_empty());
            let world = prepared(full_feed(0), options).await?;
            for (name, list) in
                [("posts of the author", "/api/users/u0/posts"), ("feed", "/api/feed")]
            {
                let delay = Duration::from_millis(delay);
                let [with, without, plain] =
                    wait_for(&world, eager, delay, list, options.readers).await?;
                let is_eager = if eager.is_empty() { "no" } else { "yes" };
                let times =
                    [(&with, 50), (&with, 99), (&without, 50), (&without, 99), (&plain, 50)];
                let times = times.map(|(times, percent)| milliseconds(times.percentile(percent)));
                let names = [delay.as_millis().to_string(), is_eager.into(), name.into()];
                table.row(names.into_iter().chain(times));
            }
        }
    }
    Ok(table)
}

/// Writes posts, and reads the list at another instance: with the token; without, until it has the post; and
/// once more.
async fn wait_for(
    world: &World,
    eager: &'static [&'static str],
    delay: Duration,
    list: &str,
    readers: usize,
) -> anyhow::Result<[Sorted<Duration>; 3]> {
    let stop = CancellationToken::new();
    let feed = FeedOptions {
        poll_delay: Some(delay),
        console: Console::silent(),
        ..FeedOptions::default()
    };
    let mut triggers = JoinSet::new();
    for pump in instance(world, eager).await.pumps(&feed) {
        let stop = stop.clone();
        triggers.spawn(async move { pump.run(stop).await });
    }
    let writer = instance(world, eager).await;
    let reader = instance(world, eager).await;
    let mut waits = [const { Vec::new() }; 3];
    for n in 0..readers {
        // At any moment between two looks of the triggers.
        sleep(delay / 7 * u32::try_from(n % 7)?).await;
        let (method, path, mut body) = new_post(0);
        let title = format!("{list} {n}");
        body["title"] = json!(title);
        let answer = send(&writer, (method, &path), &[], &body).await?;
        let headers =
            [("consistency-token", answer.header("consistency-token")), ("prefer", "wait=10")];
        let began = Instant::now();
        let with = async {
            let answer = send(&reader, ("GET", list), &headers, &Value::Null).await?;
            ensure!(answer.text.contains(&title), "the list lacks the post: {}", answer.text);
            anyhow::Ok(began.elapsed())
        };
        let without = async {
            while !send(&reader, ("GET", list), &[], &Value::Null).await?.text.contains(&title) {
                sleep(Duration::from_millis(10)).await;
            }
            anyhow::Ok(began.elapsed())
        };
        let (with, without) = join(with, without).await;
        waits[0].push(with?);
        waits[1].push(without?);
        let began = Instant::now();
        send(&reader, ("GET", list), &[], &Value::Null).await?;
        waits[2].push(began.elapsed());
    }
    stop.cancel();
    triggers.join_all().await;
    Ok(waits.map(Sorted::from))
}

/// Creates a world through the API, with all copies.
async fn prepared(
    items: Vec<(&'static str, String, Value)>,
    options: &EagerBenchOptions,
) -> anyhow::Result<World> {
    let latency = Duration::from_millis(options.store_ms);
    let world =
        World::with_options(EndpointOptions { latency, ..EndpointOptions::default() }).await;
    let plain = instance(&world, &[]).await;
    // Those of one kind do not depend on each other.
    for items in items.chunk_by(|(_, one, _), (_, other, _)| kind(one) == kind(other)) {
        let all = items.iter().map(|(method, path, body)| send(&plain, (method, path), &[], body));
        stream::iter(all).buffer_unordered(32).try_collect::<Vec<_>>().await?;
    }
    plain.settle().await;
    Ok(world)
}

/// Returns the path of an item without its id.
fn kind(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(kind, _)| kind)
}

/// Creates an instance of the app with these eager projections.
async fn instance(world: &World, eager: &'static [&'static str]) -> World {
    let eager = EagerOptions { time: Duration::from_secs(2), projections: Some(eager) };
    let projections = ProjectionOptions { eager, ..ProjectionOptions::default() };
    world.with_app(AppOptions { projections, ..World::options() }).await
}
