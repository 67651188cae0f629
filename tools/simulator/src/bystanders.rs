//! Items that no client changes: they are created before the clients begin, and every list must always
//! show all of them.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tributary_local::{chaos::Random, client::Call};

use crate::api::Api;

pub(crate) const BYSTANDER: &str = "bystander-";

const N_CHILDREN: usize = 50;

const CONCURRENT_REQUESTS: usize = 8;

const MAX_COPY_TIME: Duration = Duration::from_mins(10);

/// The stream of random numbers that decides here: no other has its number.
const RANDOM_STREAM: u64 = 2_607;

/// The requests that create parents and children, and the lists of the children.
#[derive(Debug, Default)]
pub(crate) struct Bystanders {
    parents: Vec<Call>,
    children: Vec<Call>,
    lists: Vec<String>,
}

impl Bystanders {
    /// Returns at least so many children. A parent has its id, which begins the ids of its children, its
    /// request and the path of the list of its children; a child has its request, by the id of the parent
    /// and its own.
    pub(crate) fn new(
        count: usize,
        parent: impl Fn(&str) -> (Call, String),
        child: impl Fn(&str, &str) -> Call,
    ) -> Self {
        let mut all = Self::default();
        for number in 0..count.div_ceil(N_CHILDREN) {
            let id = format!("{BYSTANDER}{number}");
            let (created, list) = parent(&id);
            all.parents.push(created);
            all.children.extend((0..N_CHILDREN).map(|n| child(&id, &format!("{id}-{n}"))));
            all.lists.push(list);
        }
        all
    }

    /// Creates the bystanders, and waits until all lists show them and no replica is behind them any
    /// more.
    pub(crate) async fn create(&mut self, api: &Api, max_lag: Duration) -> anyhow::Result<()> {
        for step in [&mut self.parents, &mut self.children] {
            let created = step.drain(..).map(async |call| api.accepted(&call).await);
            let created = stream::iter(created).buffer_unordered(CONCURRENT_REQUESTS);
            created.try_for_each(async |_| Ok(())).await?;
        }
        let started = Instant::now();
        while !self.missing(api).await?.is_empty() {
            ensure!(started.elapsed() < MAX_COPY_TIME, "the lists do not show all bystanders");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(max_lag).await;
        Ok(())
    }

    /// Reads random lists until it is dropped. The error is that of one that lacks a bystander.
    pub(crate) async fn keep_reading(
        &self,
        api: &Api,
        seed: u64,
        lists_read: &mut usize,
    ) -> anyhow::Result<Infallible> {
        if self.lists.is_empty() {
            return std::future::pending().await;
        }
        let mut random = Random::stream(seed, RANDOM_STREAM);
        loop {
            let list = &self.lists[random.index(self.lists.len())];
            if let Some(missing) = is_missing(api, list).await? {
                bail!(missing);
            }
            *lists_read += 1;
        }
    }

    /// Returns the lists that do not show all bystanders, a sentence each.
    pub(crate) async fn missing(&self, api: &Api) -> anyhow::Result<Vec<String>> {
        let mut missing = Vec::new();
        for path in &self.lists {
            missing.extend(is_missing(api, path).await?);
        }
        Ok(missing)
    }
}

async fn is_missing(api: &Api, path: &str) -> anyhow::Result<Option<String>> {
    let shown = api.list(path).await?.len();
    Ok((shown != N_CHILDREN).then(|| format!("{path} shows {shown} of {N_CHILDREN} bystanders")))
}
