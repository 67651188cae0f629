//! The largest feed, requested by many clients at the same time: the memory of the handler, and the
//! time of an answer.
//!
//! It has 100 posts with the longest ids, names, titles and summaries that the API accepts, each made
//! of the characters for which JSON needs the most bytes.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use http::Method;
use serde_json::json;
use tokio::time::interval;
use tributary_tools::{
    Call, Sorted, Table,
    figures::{each, mebibytes, milliseconds, rate},
};

use crate::{
    handler::MeasuredHandler, http::Connection, machine, process::Process, world::BenchWorld,
};

/// The size of the measurement, and the build.
#[derive(Debug, clap::Args)]
pub(crate) struct WorstFeedOptions {
    /// The time for each number of clients, in seconds.
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u64,

    /// The handler's executable; without it the one beside this program.
    #[arg(long, value_name = "PATH")]
    handler: Option<PathBuf>,
}

/// Clients at the same time, each with a connection of its own, and the setting that bounds the memory
/// of large answers: the default, and practically none.
const CASES: [(usize, Option<&str>); 4] = [(1, None), (8, None), (64, None), (64, Some("10000"))];
/// The number of posts, as many as in the feed, with an author each.
const N_POSTS: usize = 100;
/// The interval between two samples of the memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) async fn run(options: &WorstFeedOptions) -> anyhow::Result<()> {
    let mut world = BenchWorld::with(vec![authors(), posts()]).await?;
    let executable = options.handler.clone().unwrap_or_else(|| world.app.executable());
    let mut table = Table::new([
        "clients",
        "`Admission__MemoryMiB`",
        "answers/s",
        "p50, ms",
        "p99, ms",
        "max",
        "not 2xx",
        "size, KB",
        "RSS idle, MiB",
        "RSS at most, MiB",
        "handler's CPU each, µs",
    ]);
    for (clients, bound) in CASES {
        eprintln!("{clients} clients");
        if let Some(mebibytes) = bound {
            world.app.settings.set("Admission__MemoryMiB", mebibytes);
        }
        // A new handler, without the memory that earlier rows left behind.
        let mut handler = MeasuredHandler::start(&world.app, &executable, |_| ())?;
        let connection = handler.ready().await?;
        connection.send(&Call::get("/api/feed?limit=1"), "first").await?;
        let idle = handler.process.memory()?.resident;
        let cpu = handler.process.cpu_time()?;
        let begin = Instant::now();
        let answers = ask(&handler, clients, Duration::from_secs(options.seconds));
        let (answers, most) = tokio::try_join!(answers, watch(handler.process, begin, options))?;
        let took = begin.elapsed();
        let cpu = handler.process.cpu_time_since(cpu)?;
        handler.stop().await?;

        let count = answers.len();
        let size = answers.iter().map(|answer| answer.bytes).max().unwrap_or_default();
        let refused = answers.iter().filter(|answer| !answer.is_success).count();
        let sorted = Sorted::from(answers.iter().map(|answer| answer.took).collect::<Vec<_>>());
        table.row([
            clients.to_string(),
            bound.unwrap_or("default").to_owned(),
            rate(count, took),
            milliseconds(sorted.percentile(50)),
            milliseconds(sorted.percentile(99)),
            milliseconds(sorted.max()),
            refused.to_string(),
            (size / 1_000).to_string(),
            mebibytes(idle),
            mebibytes(most),
            each(cpu.as_secs_f64() * 1e6, count, 0),
        ]);
    }
    println!("{} s each; {}\n\n{table}", options.seconds, machine::line());
    Ok(())
}

struct FeedAnswer {
    took: Duration,
    bytes: usize,
    is_success: bool,
}

/// Lets a number of clients request the feed repeatedly for a time.
async fn ask(
    handler: &MeasuredHandler,
    clients: usize,
    duration: Duration,
) -> anyhow::Result<Vec<FeedAnswer>> {
    let begin = Instant::now();
    let all = (0..clients).map(async |_| {
        let connection = Connection::new(handler.address)?;
        let mut answers = Vec::new();
        while begin.elapsed() < duration {
            let sent = Instant::now();
            let reply = connection.send(&Call::get("/api/feed"), "feed").await?;
            let is_success = reply.status.is_success();
            answers.push(FeedAnswer { took: sent.elapsed(), bytes: reply.body.len(), is_success });
        }
        anyhow::Ok(answers)
    });
    Ok(try_join_all(all).await?.into_iter().flatten().collect())
}

/// Returns the peak of the process's memory during the measurement, in KiB.
async fn watch(
    process: Process,
    begin: Instant,
    options: &WorstFeedOptions,
) -> anyhow::Result<u64> {
    let mut looks = interval(SAMPLE_INTERVAL);
    let mut most = 0;
    while begin.elapsed() < Duration::from_secs(options.seconds) {
        looks.tick().await;
        most = most.max(process.memory()?.resident);
    }
    Ok(most)
}

/// Returns an id of 128 characters.
fn id(number: usize) -> String {
    format!("{number:0>128}")
}

fn authors() -> Vec<Call> {
    let name = |number: usize| format!("{number:0>3}{}", "\u{1f409}".repeat(61));
    let user = |number| {
        let body = json!({"username": name(number)});
        Call::new(Method::PUT, format!("/api/users/{}", id(number))).json(body)
    };
    (0..N_POSTS).map(user).collect()
}

/// Returns the posts. The summary of each is 199 control characters, which JSON writes with six bytes
/// each, and one grapheme cluster that takes the rest of the 8 KiB.
fn posts() -> Vec<Call> {
    let content = format!("{}e{}end", "\u{1}".repeat(199), "\u{301}".repeat(3_996));
    let title = "\u{1}".repeat(200);
    let post = |number| {
        let body = json!({"userId": id(number), "title": title, "content": content});
        Call::new(Method::PUT, format!("/api/posts/{}", id(number))).json(body)
    };
    (0..N_POSTS).map(post).collect()
}
