//! The dearest request of each HTTP function that the API accepts, found by a generator: store requests, request units,
//! time and memory, beside the limits of the function.
//!
//! 1. The store is filled with items at their limits ([`data`]).
//! 2. For each function the generator tries all combinations of parameters, windows and bodies ([`requests`]), follows
//!    cursors, and forges tokens; a body lacks its end. A property of the lists forges cursors.
//! 3. Each request is alone on the handler, and each function has a handler of its own.
//!
//! A function without requests in the generator is an error, and so is a request above a limit.

mod data;
mod requests;

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use http::StatusCode;
use serde_json::Value;
use tributary_local::client::Reply;

use self::{data::Data, requests::CostlyRequest};
use crate::{
    handler::MeasuredHandler,
    machine,
    report::{Table, mebibytes},
    world::BenchWorld,
};

/// `Admission__MemoryMiB`, and as much again for memory that the allocator keeps.
const MAX_MEMORY_MIB: usize = 64;

const MAX_CURSORS: usize = 4;

const HEADS: &str =
    "function | accepted | store requests | request units | ms | memory, MiB | the dearest";

#[derive(Default)]
struct Worst {
    accepted: usize,
    failed: Vec<String>,
    store_requests: u64,
    request_units: f64,
    milliseconds: f64,
    memory_kib: usize,
    dearest: String,
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let world = BenchWorld::with_partitions(4).await?;
    let description = tributary::program().describe()?;
    let mut unmeasured: BTreeMap<_, _> =
        description.http_functions().map(|function| (function.name, function.limits)).collect();
    let data = Data::make(&world).await?;
    let mut table = Table::new(HEADS);
    let mut above = Vec::new();
    for (function, requests) in requests::all(&data) {
        eprintln!("{function}");
        let limits = unmeasured.remove(function);
        let limits = limits.with_context(|| format!("there is no function {function}"))?;
        let mut app = world.app.clone();
        for (name, value) in requests::settings(function) {
            app.settings.set(*name, *value);
        }
        let mut handler = MeasuredHandler::ready_on(&app).await?;
        let idle_kib = handler.process.memory()?;
        let mut worst = worst_of(&mut handler, requests).await?;
        worst.memory_kib = handler.process.peak()?.saturating_sub(idle_kib);
        handler.stop().await?;
        ensure!(worst.accepted > 0, "no request of {function} was accepted: {:?}", worst.failed);
        let is_above = worst.store_requests > limits.store_requests
            || worst.request_units > f64::from(limits.request_units)
            || worst.milliseconds > limits.time.as_secs_f64() * 1_000.0
            || worst.memory_kib > MAX_MEMORY_MIB * 1_024
            || !worst.failed.is_empty();
        if is_above {
            above.push(format!("{function}: {} {:?}", worst.dearest, worst.failed));
        }
        table.row([
            function.to_owned(),
            worst.accepted.to_string(),
            worst.store_requests.to_string(),
            format!("{:.0}", worst.request_units),
            format!("{:.0}", worst.milliseconds),
            mebibytes(worst.memory_kib),
            worst.dearest,
        ]);
    }
    println!("{}\n\n{table}", machine::line());
    let unmeasured: Vec<_> = unmeasured.keys().collect();
    ensure!(unmeasured.is_empty(), "worst/requests.rs has no requests of {unmeasured:?}");
    ensure!(above.is_empty(), "above a limit, or failed:\n{}", above.join("\n"));
    Ok(())
}

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
        let reply = handler.connection.send(&candidate.1, &id).await?;
        worst.add(&candidate.0, &reply, &handler.answered(&id).await?);
        if let Some(cursor) = reply.json()["nextCursor"].as_str()
            && cursors < MAX_CURSORS
        {
            cursors += 1;
            candidates.extend(requests::next_page(&candidate, cursor));
        }
    }
    Ok(worst)
}

impl Worst {
    fn add(&mut self, what: &String, reply: &Reply, line: &Value) {
        let status = reply.status;
        let store_requests = line["store.requests"].as_u64().unwrap_or_default();
        let request_units = line["request_charge_ru"].as_f64().unwrap_or_default();
        if status.is_server_error() && status != StatusCode::INSUFFICIENT_STORAGE {
            self.failed.push(format!("{what} was answered {status}"));
        } else if !status.is_client_error() || store_requests > 0 {
            self.accepted += 1;
        }
        if request_units >= self.request_units {
            self.dearest.clone_from(what);
        }
        self.store_requests = self.store_requests.max(store_requests);
        self.request_units = self.request_units.max(request_units);
        self.milliseconds = self.milliseconds.max(line["duration_ms"].as_f64().unwrap_or_default());
    }
}
