//! Requests a second at saturation, the cost of each, and the growth of the memory.

mod client;

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures::future::try_join_all;

use tributary_local::client::Reply;

use self::client::LoadClient;
use crate::report::{Sorted, Table, each, mebibytes, milliseconds, number, rate};
use crate::{handler::MeasuredHandler, machine, world::BenchWorld};

#[derive(Debug, clap::Args)]
pub(crate) struct LoadOptions {
    /// The time for each number of clients, in seconds.
    #[arg(long, value_name = "S", default_value_t = 4)]
    seconds: u64,

    /// The number of requests over which the memory is sampled.
    #[arg(long, value_name = "N", default_value_t = 96_000)]
    requests: usize,
}

/// Queries (40 % a post, Q2, 20 % a user, Q1, and 10 % each of Q3, Q4, Q5 and Q6) and a share of commands: a post
/// is edited (C2), liked or unliked (C4), commented on (C3) or the comment deleted. Each addition is removed later,
/// so that the store keeps its size.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    commands: f64,
}

const READS: Workload = Workload { name: "reads", commands: 0.0 };
const MIXED: Workload = Workload { name: "mixed, 20 % commands", commands: 0.2 };

#[derive(Default)]
struct LoadTally {
    durations: Vec<Duration>,
    charge: f64,
    refused: usize,
    took: Duration,
    cpu: Duration,
}

impl LoadTally {
    fn add(&mut self, duration: Duration, reply: &Reply) {
        self.durations.push(duration);
        self.charge += reply.charge();
        self.refused += usize::from(!reply.status.is_success());
    }
}

const HEADS: &str = "workload | clients | requests/s | p50, ms | p99, ms | RU each | handler's CPU each, µs | not 2xx";
const MEMORY_HEADS: &str = "requests | requests/s | RSS, MiB | handler's CPU each, µs";

const CLIENT_COUNTS: [usize; 4] = [1, 8, 32, 64];
const WATCHED_CLIENTS: usize = 32;
const MEMORY_SAMPLES: usize = 10;

pub(crate) async fn run(options: &LoadOptions) -> anyhow::Result<()> {
    ensure!(
        options.requests >= MEMORY_SAMPLES * WATCHED_CLIENTS,
        "--requests must be at least {}",
        MEMORY_SAMPLES * WATCHED_CLIENTS
    );
    let world = BenchWorld::with_blog().await?;

    let mut handler = MeasuredHandler::ready_on(&world.app).await?;
    handler.forget_lines();
    let rates = rates(&handler, Duration::from_secs(options.seconds)).await?;
    handler.stop().await?;
    println!("{} s each; {}\n\n{rates}", options.seconds, machine::line());

    let mut handler = MeasuredHandler::ready_on(&world.app).await?;
    handler.forget_lines();
    let memory = memory(&handler, options.requests).await?;
    println!("{WATCHED_CLIENTS} clients, {}\n\n{memory}", MIXED.name);
    handler.stop().await
}

async fn rates(handler: &MeasuredHandler, duration: Duration) -> anyhow::Result<Table> {
    let mut table = Table::new(HEADS);
    for workload in [READS, MIXED] {
        for clients in CLIENT_COUNTS {
            eprintln!("{}, {clients} clients", workload.name);
            let begin = Instant::now();
            let tally = work(handler, workload, clients, |_| begin.elapsed() < duration).await?;
            let LoadTally { durations, charge, refused, took, .. } = tally;
            let count = durations.len();
            let sorted = Sorted::new(durations);
            table.row([
                workload.name.to_owned(),
                clients.to_string(),
                rate(count, took),
                milliseconds(sorted.percentile(50)),
                milliseconds(sorted.percentile(99)),
                each(charge, count),
                microseconds_each(tally.cpu, count),
                refused.to_string(),
            ]);
        }
    }
    Ok(table)
}

/// The first tenth fills caches and the allocator's arenas.
async fn memory(handler: &MeasuredHandler, requests: usize) -> anyhow::Result<Table> {
    let mut table = Table::new(MEMORY_HEADS);
    for look in 0..=MEMORY_SAMPLES {
        // The first sample is before the first request.
        let share = if look == 0 { 0 } else { requests / MEMORY_SAMPLES / WATCHED_CLIENTS };
        let tally = work(handler, MIXED, WATCHED_CLIENTS, |sent| sent < share).await?;
        let memory = handler.process.memory()?;
        eprintln!("{look}/{MEMORY_SAMPLES}: {} MiB", mebibytes(memory));
        table.row([
            (share * WATCHED_CLIENTS * look).to_string(),
            rate(tally.durations.len(), tally.took),
            mebibytes(memory),
            microseconds_each(tally.cpu, tally.durations.len()),
        ]);
    }
    Ok(table)
}

async fn work(
    handler: &MeasuredHandler,
    workload: Workload,
    clients: usize,
    go_on: impl Fn(usize) -> bool,
) -> anyhow::Result<LoadTally> {
    let (begin, cpu) = (Instant::now(), handler.process.cpu_time()?);
    let tally = RefCell::new(LoadTally::default());
    let all = (0..clients).map(async |number| {
        LoadClient::new(handler.address, workload, number)?.work(&go_on, &tally).await
    });
    try_join_all(all).await?;
    let cpu = handler.process.cpu_time()?.saturating_sub(cpu);
    Ok(LoadTally { took: begin.elapsed(), cpu, ..tally.into_inner() })
}

fn microseconds_each(cpu: Duration, count: usize) -> String {
    if count == 0 {
        "-".to_owned()
    } else {
        format!("{:.0}", cpu.as_secs_f64() * 1e6 / number(count))
    }
}
