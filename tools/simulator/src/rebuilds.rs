//! Rebuilds of projections beside the clients: the command of the app, half of whose processes are killed.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use anyhow::{Context as _, bail};
use tokio::time::timeout;
use tributary_local::{chaos::Random, host::BuiltApp};

use crate::run::command_of;

const KILL: f64 = 0.5;

/// The longest life of such a process, and its part for each item of `--copies`, in milliseconds: it is killed in
/// each of its steps.
const MAX_LIFE_MS: u64 = 40_000;
const MAX_LIFE_OF_ITEM_MS: u64 = 10;

/// The time in which all rebuilds must end after quiet. The local endpoint scans all items for a query.
const MAX_END: Duration = Duration::from_hours(1);

/// The stream of random numbers that decides here: no other has its number.
const RANDOM_STREAM: u64 = 2_606;

const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Rebuilder {
    app: BuiltApp,
    projections: &'static [&'static str],
    max_life_ms: u64,
    random: Random,
    begun: BTreeSet<&'static str>,
    pub(crate) ended: usize,
}

impl Rebuilder {
    pub(crate) fn new(
        app: BuiltApp,
        projections: &'static [&'static str],
        copies: usize,
        seed: u64,
    ) -> Self {
        let max_life_ms = MAX_LIFE_MS + MAX_LIFE_OF_ITEM_MS * copies as u64;
        let random = Random::stream(seed, RANDOM_STREAM);
        Self { app, projections, max_life_ms, random, begun: BTreeSet::new(), ended: 0 }
    }

    /// Rebuilds until it is dropped, and kills half of the processes. The error is that of one that fails
    /// otherwise than it should.
    pub(crate) async fn keep_on(&mut self) -> anyhow::Result<Infallible> {
        if self.projections.is_empty() {
            return std::future::pending().await;
        }
        loop {
            let name = self.projections[self.random.index(self.projections.len())];
            let killed_after = Duration::from_millis(self.random.below(self.max_life_ms));
            let life = if self.random.chance(KILL) { killed_after } else { Duration::MAX };
            self.begun.insert(name);
            if let Ok(ended) = timeout(life, self.rebuild(name)).await {
                ended?;
                self.ended += 1;
            }
        }
    }

    pub(crate) async fn complete(&mut self) -> anyhow::Result<()> {
        for name in &self.begun {
            timeout(MAX_END, self.rebuild(name)).await.context("a rebuild does not end")??;
        }
        self.ended += self.begun.len();
        Ok(())
    }

    async fn rebuild(&self, name: &str) -> anyhow::Result<()> {
        loop {
            let output = command_of(&self.app, &["projections", "rebuild", name]).await?;
            match output.status.code() {
                Some(0) => return Ok(()),
                // The store has refused requests, or another process has the rebuild.
                Some(2) => tokio::time::sleep(PAUSE).await,
                _ => bail!("the rebuild failed: {}", String::from_utf8_lossy(&output.stderr)),
            }
        }
    }
}
