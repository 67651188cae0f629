//! Requests a second at saturation, what each costs, and the memory that stays.
//!
//! The handler, the local endpoint and the clients share the processors, so the requests a second
//! are those of all three together. The processor time of the handler for a request is its own.

mod client;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures::future::try_join_all;

use self::client::{Client, Tally, Workload};
use crate::{handler::Handler, machine, world::World};
use tributary_tools::{
    Sorted, Table,
    figures::{mebibytes, milliseconds, thousands},
    slope,
};

/// How long, how many, and which build.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How long each number of clients is kept up, in seconds.
    #[arg(long, value_name = "S", default_value_t = 4)]
    seconds: u64,

    /// How many requests the memory is watched over.
    #[arg(long, value_name = "N", default_value_t = 96_000)]
    requests: usize,

    /// What is sent while the memory is watched.
    #[arg(long, default_value = "mixed")]
    watched: Workload,

    /// The handler's executable; without it the one beside this program.
    #[arg(long, value_name = "PATH")]
    handler: Option<PathBuf>,
}

/// Clients at the same time, each with a connection of its own.
const CLIENTS: [usize; 4] = [1, 8, 32, 64];
/// How many there are while the memory is watched.
const WATCHED: usize = 32;
/// How often the memory is looked at.
const LOOKS: usize = 10;

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(options.requests >= LOOKS * WATCHED, "--requests must be at least {}", LOOKS * WATCHED);
    let world = World::with_blog().await?;
    let executable = options.handler.clone().unwrap_or_else(|| world.app.executable());
    let start = || Handler::start(&world.app, &executable, |_| ());

    let mut handler = start()?;
    handler.ready().await?;
    let rates = rates(&handler, Duration::from_secs(options.seconds)).await?;
    handler.stop().await?;
    println!("{} s each; {}\n\n{rates}", options.seconds, machine::line());

    let mut handler = start()?;
    handler.ready().await?;
    let (memory, growth) = memory(&handler, options).await?;
    println!("{WATCHED} clients, {}\n\n{memory}", options.watched);
    if let Some(growth) = growth {
        println!("Growth after the first tenth: {growth:.1} bytes a request");
    }
    handler.stop().await
}

/// Both workloads at each number of clients.
async fn rates(handler: &Handler, duration: Duration) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "workload",
        "clients",
        "requests/s",
        "p50, ms",
        "p99, ms",
        "RU each",
        "handler's CPU each, µs",
        "not 2xx",
    ]);
    for workload in [Workload::Reads, Workload::Mixed] {
        for clients in CLIENTS {
            eprintln!("{workload}, {clients} clients");
            let (begin, cpu) = (Instant::now(), handler.process.cpu_time()?);
            let tally = work(handler, workload, clients, |_| begin.elapsed() < duration).await?;
            let (took, cpu) = (begin.elapsed(), handler.process.cpu_time_since(cpu)?);
            let count = tally.durations.len();
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let (requests, refused) = (count.max(1) as f64, tally.refused);
            let sorted = Sorted::from(tally.durations);
            table.row([
                workload.to_string(),
                clients.to_string(),
                format!("{:.0}", requests / took.as_secs_f64()),
                milliseconds(sorted.percentile(50)),
                milliseconds(sorted.percentile(99)),
                format!("{:.2}", tally.charge / requests),
                format!("{:.0}", cpu.as_secs_f64() * 1e6 / requests),
                refused.to_string(),
            ]);
        }
    }
    Ok(table)
}

/// The memory after each tenth of so many requests, and its growth in bytes a request after the
/// first tenth, which fills caches and the allocator's arenas.
async fn memory(handler: &Handler, options: &Options) -> anyhow::Result<(Table, Option<f64>)> {
    let columns = ["requests", "requests/s", "RSS, MiB", "PSS, MiB", "handler's CPU each, µs"];
    let mut table = Table::new(columns);
    let mut points = Vec::new();
    for look in 0..=LOOKS {
        let (begin, cpu) = (Instant::now(), handler.process.cpu_time()?);
        let share = if look == 0 { 0 } else { options.requests / LOOKS / WATCHED };
        let tally = work(handler, options.watched, WATCHED, |sent| sent < share).await?;
        let (took, cpu) = (begin.elapsed(), handler.process.cpu_time_since(cpu)?);
        let memory = handler.process.memory()?;
        eprintln!("{look}/{LOOKS}: {} MiB", mebibytes(memory.resident));
        let total = share * WATCHED * look;
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        let (count, sent, bytes) =
            (tally.durations.len() as f64, total as f64, (memory.resident * 1_024) as f64);
        if look > 0 {
            points.push((sent, bytes));
        }
        // The first look is before the first request.
        let each = (look > 0).then(|| cpu.as_secs_f64() * 1e6 / count.max(1.0));
        table.row([
            thousands(total),
            format!("{:.0}", count / took.as_secs_f64()),
            mebibytes(memory.resident),
            mebibytes(memory.proportional),
            each.map_or_else(|| "-".to_owned(), |each| format!("{each:.0}")),
        ]);
    }
    Ok((table, slope(&points)))
}

/// Lets so many clients send one request after the other for as long as `go_on` says of the number
/// that a client has sent.
async fn work(
    handler: &Handler,
    workload: Workload,
    clients: usize,
    go_on: impl Fn(usize) -> bool,
) -> anyhow::Result<Tally> {
    let go_on = &go_on;
    let all = (0..clients)
        .map(async |number| Client::new(handler.address, workload, number)?.work(go_on).await);
    let tallies = try_join_all(all).await?;
    Ok(tallies.into_iter().fold(Tally::default(), Tally::plus))
}
