//! Rebuilds of projections beside the clients: the command of the app, half of whose processes are killed.

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use tokio::{process::Command, time::timeout};
use tributary_local::{chaos::Random, host::BuiltApp};

/// The probability that a process is killed.
const KILL: f64 = 0.5;

/// The longest time before it is killed, without that for its items, in milliseconds.
const MAX_LIFE_MS: u64 = 40_000;

/// The time for an item by which a process may live longer, in milliseconds: it is killed in each of its
/// steps.
const MAX_LIFE_OF_ITEM_MS: u64 = 10;

/// The time in which every rebuild must end after quiet, without that for its items: a worker that was
/// killed keeps it for 90 s.
const MAX_END: Duration = Duration::from_mins(5);

/// The longest time for an item. The local endpoint scans all items for a query.
const MAX_ITEM_TIME: Duration = Duration::from_millis(100);

/// The stream of random numbers that decides here: no other has its number.
const RANDOM_STREAM: u64 = 2_606;

/// The pause before a command is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// Rebuilds random projections of an app, one after the other.
pub(crate) struct Rebuilder {
    app: BuiltApp,
    projections: Vec<&'static str>,
    /// The approximate number of items of a rebuild.
    items: usize,
    random: Random,
    begun: BTreeSet<&'static str>,
    /// The number of rebuilds that have ended.
    pub(crate) ended: usize,
}

impl Rebuilder {
    pub(crate) fn new(
        app: BuiltApp,
        projections: Vec<&'static str>,
        items: usize,
        seed: u64,
    ) -> Self {
        let random = Random::stream(seed, RANDOM_STREAM);
        Self { app, projections, items, random, begun: BTreeSet::new(), ended: 0 }
    }

    /// Rebuilds until it is dropped, and kills half of the processes. Returns the error of one that fails
    /// otherwise than it should.
    pub(crate) async fn keep_on(&mut self) -> anyhow::Error {
        if self.projections.is_empty() {
            return std::future::pending().await;
        }
        loop {
            let name = self.projections[self.random.index(self.projections.len())];
            let max_life = MAX_LIFE_MS + MAX_LIFE_OF_ITEM_MS * self.items as u64;
            let killed_after = Duration::from_millis(self.random.below(max_life));
            let life = if self.random.chance(KILL) { killed_after } else { Duration::MAX };
            self.begun.insert(name);
            match timeout(life, self.rebuild(name)).await {
                Ok(Ok(true)) => self.ended += 1,
                // The store has refused requests, or another process has the rebuild.
                Ok(Ok(false)) => tokio::time::sleep(PAUSE).await,
                Ok(Err(error)) => return error,
                Err(_) => {}
            }
        }
    }

    /// Ends all rebuilds that have begun.
    pub(crate) async fn complete(&mut self) -> anyhow::Result<()> {
        let max_end = MAX_END + MAX_ITEM_TIME * u32::try_from(self.items)?;
        let all = async {
            for name in &self.begun {
                while !self.rebuild(name).await? {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            anyhow::Ok(())
        };
        timeout(max_end, all).await.context("a rebuild does not end")??;
        self.ended += self.begun.len();
        Ok(())
    }

    /// Runs the command to its end. Returns false if it has to be run again.
    async fn rebuild(&self, name: &str) -> anyhow::Result<bool> {
        let output = Command::new(self.app.executable())
            .args(["projections", "rebuild", name, "--json"])
            .envs(self.app.settings.iter())
            .env("Background__RequestUnitsPerSecond", "0")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("the rebuild cannot be started")?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(2) => Ok(false),
            _ => bail!("the rebuild failed: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}
