//! The overhead of the handler over the SDK's own calls (`store.duration_ms` of its log line).

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::runtime;
use tributary_local::client::Call;

use crate::{
    handler::MeasuredHandler,
    machine,
    report::{Sorted, Table, milliseconds},
    world::{BenchWorld, POSTS, READERS, USERS, author, comment, like},
};

#[derive(Debug, clap::Args)]
pub(crate) struct OverheadOptions {
    /// The number of requests of each kind.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    requests: usize,
}

/// Requests of each kind before the measurement: connections, caches and the allocator settle.
const WARM_UP: usize = 100;

pub(crate) type RequestCase = (&'static str, fn(usize) -> Call);

pub(crate) const KINDS: [RequestCase; 10] = [
    ("Q1 a user", |number| Call::get(format!("/api/users/u{}", number % USERS))),
    ("Q2 a post", |number| Call::get(format!("/api/posts/p{}", number % POSTS))),
    ("Q3 posts of a user", |number| Call::get(format!("/api/users/u{}/posts", number % USERS))),
    ("Q4 comments", |number| Call::get(format!("/api/posts/p{}/comments", number % POSTS))),
    ("Q5 likes", |number| Call::get(format!("/api/posts/p{}/likes", number % POSTS))),
    ("Q6 the feed, 100 posts", |_| Call::get("/api/feed")),
    ("C1 sign up", |number| {
        Call::post("/api/users", json!({"username": format!("Newcomer {number}")}))
    }),
    ("C2 write a post", |number| {
        let content = "Small streams feed the river that people read from. ".repeat(20);
        let body = json!({"userId": author(number), "title": "One more", "content": content});
        Call::post("/api/posts", body)
    }),
    ("C3 comment", |number| comment(number % POSTS, &format!("r{}", number % READERS))),
    ("C4 like", |number| like(number % POSTS, &format!("r{}", number / POSTS % READERS))),
];

struct Took {
    whole: Duration,
    /// The time in the app, between the HTTP server and itself.
    app: Duration,
    sdk: Duration,
}

pub(crate) async fn run(
    options: &OverheadOptions,
    background: &runtime::Handle,
) -> anyhow::Result<()> {
    let most = POSTS * READERS - WARM_UP;
    let requests = options.requests;
    ensure!((1..=most).contains(&requests), "--requests must be from 1 to {most}");
    let world = background.spawn(BenchWorld::with_blog()).await??;
    let mut handler = MeasuredHandler::ready_on(&world.app).await?;
    let mut took = KINDS.map(|_| Vec::with_capacity(requests));
    let mut nothing = Vec::with_capacity(requests);
    for number in 0..WARM_UP + requests {
        let counts = number >= WARM_UP;
        // In turns, so that a disturbance of the machine hits all kinds.
        for ((_, call), took) in KINDS.iter().zip(&mut took) {
            let one = measure(&mut handler, &call(number), number).await?;
            took.extend(counts.then_some(one));
        }
        let begin = Instant::now();
        handler.connection.send(&Call::get("/"), "probe").await?;
        nothing.extend(counts.then(|| begin.elapsed()));
    }
    println!("{requests} requests of each kind, one at a time; {}\n", machine::line());
    let nothing = Sorted::new(nothing);
    let [p50, p99] = [50, 99].map(|percent| milliseconds(nothing.percentile(percent)));
    println!("{}\nGET / is answered in {p50} ms, p99 {p99} ms.", by_kind(&took));
    Ok(())
}

async fn measure(
    handler: &mut MeasuredHandler,
    call: &Call,
    number: usize,
) -> anyhow::Result<Took> {
    let begin = Instant::now();
    let id = number.to_string();
    let reply = handler.connection.send(call, &id).await?;
    let whole = begin.elapsed();
    ensure!(reply.status.is_success(), "{call:?} was answered {}", reply.status);
    let line = handler.answered(&id).await?;
    let time = |name| {
        let seconds = line[name].as_f64().context("a line of a request has its times")? / 1_000.0;
        anyhow::Ok(Duration::try_from_secs_f64(seconds)?)
    };
    Ok(Took { whole, app: time("duration_ms")?, sdk: time("store.duration_ms")? })
}

fn by_kind(took: &[Vec<Took>]) -> Table {
    let mut table = Table::new(
        "request | answered p50, ms | p99 | of it the SDK p50, ms | p99 | handler adds p50, ms | p99 | \
         of it the app p50, ms",
    );
    for ((name, _), took) in KINDS.iter().zip(took) {
        let of = |part: fn(&Took) -> Duration| {
            let sorted = Sorted::new(took.iter().map(part));
            [sorted.percentile(50), sorted.percentile(99)].map(milliseconds)
        };
        let added = of(|took| took.whole.saturating_sub(took.sdk));
        let [app, _] = of(|took| took.app.saturating_sub(took.sdk));
        let numbers = [of(|took| took.whole), of(|took| took.sdk), added];
        let numbers = numbers.into_iter().flatten().chain([app]);
        table.row([(*name).to_owned()].into_iter().chain(numbers));
    }
    table
}
