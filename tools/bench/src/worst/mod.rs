//! The dearest request of each HTTP function that the API accepts, found by a generator: store
//! requests, request units, time and memory, beside the limits of the function.
//!
//! 1. The store is filled with items at their limits ([`data`]): a page of the largest comments, a
//!    full feed, customers with a page of orders, six years of news, dead letters.
//! 2. For each function the generator tries all combinations of parameters, windows and bodies
//!    ([`requests`]), follows the cursors, and forges them.
//! 3. Each request is alone on the handler. The handler's log line says what it used of the store and
//!    how long it took. Each function has a handler of its own; Linux says by how much it grew.
//!
//! A function without requests in the generator is an error, and so is a request above a limit.

mod data;
mod requests;

use std::{cmp::Reverse, collections::BTreeMap, path::PathBuf};

use anyhow::{Context as _, ensure};
use http::{Method, StatusCode};

use serde_json::Value;
use tributary_local::client::Reply;

use self::{data::Data, requests::CostlyRequest};
use crate::{
    handler::MeasuredHandler,
    machine,
    report::{Table, mebibytes},
    world::BenchWorld,
};

/// The functions, and the build.
#[derive(Debug, clap::Args)]
pub(crate) struct WorstOptions {
    /// The functions to measure; without it all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    functions: Vec<String>,

    /// The handler's executable; without it the one beside this program.
    #[arg(long, value_name = "PATH")]
    handler: Option<PathBuf>,
}

/// The memory that one request may add to the process, in MiB: the reservation of all large requests
/// together (`Admission__MemoryMiB`), and as much again for memory that the allocator keeps.
const MAX_MEMORY_MIB: usize = 64;

const MAX_CURSORS: usize = 4;

/// The maximum of each figure over the requests of a function.
#[derive(Default)]
struct Worst {
    accepted: usize,
    refused: usize,
    failed: Vec<String>,
    store_requests: u64,
    request_units: f64,
    milliseconds: f64,
    memory_kib: usize,
    answer_bytes: usize,
    dearest: String,
}

pub(crate) async fn run(options: &WorstOptions) -> anyhow::Result<()> {
    let world = BenchWorld::with_partitions(4).await?;
    let executable = options.handler.as_deref();
    let data = Data::make(&world, executable).await?;
    let mut functions = requests::functions()?;
    let is_wanted = |name| options.functions.iter().any(|known| known == name);
    functions.retain(|function| options.functions.is_empty() || is_wanted(function.name));
    let mut functions: Vec<_> = functions.into_iter().enumerate().collect();
    // Queries first and parents last, since deletes remove the items of other requests.
    functions.sort_by_key(|(_, function)| (order(&function.method), Reverse(function.route.len())));

    let mut table = Table::new([
        "function",
        "accepted",
        "refused",
        "store requests",
        "request units",
        "ms",
        "memory, MiB",
        "answer, KB",
        "the dearest",
    ]);
    let mut above = Vec::new();
    let mut rows = BTreeMap::new();
    for (place, function) in functions {
        eprintln!("{}", function.name);
        let candidates = requests::candidates(&data, function.name);
        let candidates = candidates.with_context(|| {
            format!("tools/bench/src/worst/requests.rs has no requests of {}", function.name)
        })?;
        let mut app = world.app.clone();
        for (name, value) in requests::settings(function.name) {
            app.settings.set(*name, *value);
        }
        let mut handler = MeasuredHandler::ready_on(&app, executable).await?;
        let idle_kib = handler.process.memory()?.resident;
        let mut worst = worst_of(&mut handler, candidates).await?;
        worst.memory_kib = handler.process.peak()?.saturating_sub(idle_kib);
        handler.stop().await?;
        ensure!(
            worst.accepted > 0,
            "no request of {} was accepted: {:?}",
            function.name,
            worst.failed
        );
        let limits = function.limits;
        let limit_ms = limits.time.as_secs_f64() * 1_000.0;
        let is_above = worst.store_requests > limits.store_requests
            || worst.request_units > f64::from(limits.request_units)
            || worst.milliseconds > limit_ms
            || worst.memory_kib > MAX_MEMORY_MIB * 1_024
            || !worst.failed.is_empty();
        if is_above {
            above.push(format!("{}: {} {:?}", function.name, worst.dearest, worst.failed));
        }
        let row = [
            function.name.to_owned(),
            worst.accepted.to_string(),
            worst.refused.to_string(),
            worst.store_requests.to_string(),
            format!("{:.0}", worst.request_units),
            format!("{:.0}", worst.milliseconds),
            mebibytes(worst.memory_kib),
            (worst.answer_bytes / 1_000).to_string(),
            worst.dearest,
        ];
        rows.insert(place, row);
    }
    for row in rows.into_values() {
        table.row(row);
    }
    println!("{}\n\n{table}", machine::line());
    ensure!(above.is_empty(), "above a limit, or failed:\n{}", above.join("\n"));
    Ok(())
}

fn order(method: &Method) -> usize {
    [Method::GET, Method::PUT, Method::POST].iter().position(|known| known == method).unwrap_or(3)
}

/// Sends the requests of a function, one after the other, and then those with the cursors of their
/// answers.
async fn worst_of(
    handler: &mut MeasuredHandler,
    mut candidates: Vec<CostlyRequest>,
) -> anyhow::Result<Worst> {
    let mut worst = Worst::default();
    let mut cursors = 0;
    let mut next = 0;
    while let Some(candidate) = candidates.get(next).cloned() {
        next += 1;
        let id = format!("worst-{next}");
        let reply = handler.connection.send(&candidate.call, &id).await?;
        worst.add(&candidate, &reply, &handler.answered(&id).await?);
        if let Some(cursor) = reply.json()["nextCursor"].as_str()
            && cursors < MAX_CURSORS
        {
            cursors += 1;
            candidates.extend(requests::with_cursors(&candidate, cursor));
        }
    }
    Ok(worst)
}

impl Worst {
    /// Adds a request with its answer and its line of the handler's log.
    fn add(&mut self, CostlyRequest { what, .. }: &CostlyRequest, reply: &Reply, line: &Value) {
        let status = reply.status;
        let store_requests = line["store.requests"].as_u64().unwrap_or_default();
        let request_units = line["request_charge_ru"].as_f64().unwrap_or_default();
        if status.is_server_error() && status != StatusCode::INSUFFICIENT_STORAGE {
            self.failed.push(format!("{what} was answered {status}"));
        } else if status.is_client_error() && store_requests == 0 {
            self.refused += 1;
        } else {
            self.accepted += 1;
        }
        if request_units >= self.request_units {
            self.dearest.clone_from(what);
        }
        self.store_requests = self.store_requests.max(store_requests);
        self.request_units = self.request_units.max(request_units);
        self.milliseconds = self.milliseconds.max(line["duration_ms"].as_f64().unwrap_or_default());
        self.answer_bytes = self.answer_bytes.max(reply.body.len());
    }
}
