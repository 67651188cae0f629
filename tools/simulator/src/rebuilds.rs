//! Rebuilds of projections beside the clients: the command of the app, half of whose processes are killed.

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::{process::Command, time::timeout};
use tributary_local::{chaos::Random, host::BuiltApp};

use crate::ChaosCli;

/// The probability that a process is killed.
const KILL: f64 = 0.5;

/// The longest time before it is killed, without that for its items, in milliseconds.
const MAX_LIFE_MS: u64 = 40_000;

/// The time for an item by which a process may live longer, in milliseconds: it is killed in each of its steps.
const MAX_LIFE_OF_ITEM_MS: u64 = 10;

/// The time in which every rebuild must end after quiet, without that for its items: a worker that was killed
/// keeps it for 90 s.
const MAX_END: Duration = Duration::from_mins(5);

/// The longest time for an item. The local endpoint scans all items for a query.
const MAX_ITEM_TIME: Duration = Duration::from_millis(100);

/// The most request units of an item in all rebuilds: a budget may let them wait for so long.
const MAX_ITEM_UNITS: u32 = 20;

/// The request units of the pages at the end, for which no later work waits.
const UNPAID: f64 = 1_000.0;

/// The stream of random numbers that decides here: no other has its number.
const RANDOM_STREAM: u64 = 2_606;

/// The pause before a command is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// Rebuilds random projections of an app, one after the other.
pub(crate) struct Rebuilder<'a> {
    app: &'a BuiltApp,
    projections: Vec<&'static str>,
    /// The approximate number of items of a rebuild.
    items: u32,
    /// The request units a second of a process; 0 is no limit.
    request_units: u32,
    seed: u64,
    random: Random,
    begun: BTreeSet<&'static str>,
    /// The rebuilds that have ended.
    pub(crate) ended: Vec<Ended>,
}

/// A rebuild that has ended.
pub(crate) struct Ended {
    projection: &'static str,
    request_units: f64,
    /// The time since it was asked for.
    seconds: f64,
}

/// Returns the rebuilds with what they have cost.
fn in_words(ended: &[Ended]) -> String {
    let one = |Ended { projection, request_units, seconds }: &Ended| {
        format!("{projection} ({request_units:.0} RU in {seconds:.0} s)")
    };
    let all: Vec<String> = ended.iter().map(one).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

impl<'a> Rebuilder<'a> {
    pub(crate) fn new(app: &'a BuiltApp, cli: &ChaosCli, seed: u64) -> anyhow::Result<Self> {
        Ok(Self {
            app,
            projections: cli.rebuilt()?,
            items: u32::try_from(cli.bystanders)?,
            request_units: cli.rebuild_request_units,
            seed,
            random: Random::stream(seed, RANDOM_STREAM),
            begun: BTreeSet::new(),
            ended: Vec::new(),
        })
    }

    /// Rebuilds until it is dropped, and kills half of the processes. Returns the error of one that fails
    /// otherwise than it should.
    pub(crate) async fn keep_on(&mut self) -> anyhow::Error {
        if self.projections.is_empty() {
            return std::future::pending().await;
        }
        loop {
            let name = self.projections[self.random.index(self.projections.len())];
            let max_life = MAX_LIFE_MS + MAX_LIFE_OF_ITEM_MS * u64::from(self.items);
            let killed_after = Duration::from_millis(self.random.below(max_life));
            let life = if self.random.chance(KILL) { killed_after } else { Duration::MAX };
            self.begun.insert(name);
            match timeout(life, self.rebuild(name)).await {
                Ok(Ok(Some(ended))) => self.ended.push(ended),
                // The store has refused requests, or another process has the rebuild.
                Ok(Ok(None)) => tokio::time::sleep(PAUSE).await,
                Ok(Err(error)) => return error,
                Err(_) => {}
            }
        }
    }

    /// Ends all rebuilds that have begun.
    pub(crate) async fn complete(&mut self) -> anyhow::Result<()> {
        let max_end = MAX_END + MAX_ITEM_TIME * self.items + self.paid_in();
        let all = async {
            for name in std::mem::take(&mut self.begun) {
                let ended = loop {
                    match self.rebuild(name).await? {
                        Some(ended) => break ended,
                        None => tokio::time::sleep(PAUSE).await,
                    }
                };
                self.ended.push(ended);
            }
            anyhow::Ok(())
        };
        timeout(max_end, all).await.context("a rebuild does not end")?
    }

    /// Returns the longest time in which the budget has the units of all rebuilds.
    fn paid_in(&self) -> Duration {
        (Duration::from_secs(1) * MAX_ITEM_UNITS * self.items)
            .checked_div(self.request_units)
            .unwrap_or_default()
    }

    /// Prints the rebuilds, of which so many ended under chaos.
    pub(crate) fn report(&self, under_chaos: usize) {
        let (under_chaos, after) = self.ended.split_at(under_chaos);
        if !self.ended.is_empty() {
            let (seed, under_chaos, after) = (self.seed, in_words(under_chaos), in_words(after));
            eprintln!("Seed {seed}: rebuilds ended under chaos: {under_chaos}; after it: {after}");
        }
    }

    /// Runs the command to its end; `None` if it has to be run again.
    async fn rebuild(&self, name: &'static str) -> anyhow::Result<Option<Ended>> {
        let output = Command::new(self.app.executable())
            .args(["projections", "rebuild", name, "--json"])
            .envs(self.app.settings.iter())
            .env("Background__RequestUnitsPerSecond", self.request_units.to_string())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("the rebuild cannot be started")?;
        match output.status.code() {
            Some(0) => self.check_budget(name, &output.stdout).map(Some),
            Some(2) => Ok(None),
            _ => bail!("the rebuild failed: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Reads the costs of a rebuild that has ended, and checks that they are within the budget.
    fn check_budget(&self, projection: &'static str, output: &[u8]) -> anyhow::Result<Ended> {
        let view: Value = serde_json::from_slice(output).context("the command has no JSON")?;
        let rebuild = &view["rebuild"];
        let time = |name: &str| {
            let text = rebuild[name].as_str().with_context(|| format!("{name} of {view}"))?;
            anyhow::Ok(OffsetDateTime::parse(text, &Rfc3339)?)
        };
        let seconds = (time("endedAt")? - time("requestedAt")?).as_seconds_f64();
        let request_units = rebuild["progress"]["requestUnits"].as_f64().context("no units")?;
        let budget = f64::from(self.request_units) * seconds + UNPAID;
        if self.request_units > 0 && request_units > budget {
            bail!("{projection}: {request_units} RU in {seconds} s");
        }
        Ok(Ended { projection, request_units, seconds })
    }
}
