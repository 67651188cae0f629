//! The bystanders of a run: they are created before the clients begin, and then read all the time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_local::client::Call;
use tributary_simulator::{Api, Bystanders};

use crate::handler::HttpApi;

/// The requests that are sent at the same time.
const CONCURRENT_REQUESTS: usize = 8;

/// The longest time until a request has an answer that is none of chaos.
const MAX_ANSWER: Duration = Duration::from_mins(3);

/// The longest time until all lists show all bystanders.
const MAX_COPIES: Duration = Duration::from_mins(10);

/// The stream of random numbers that decides here: no other has its number.
const RANDOM_STREAM: u64 = 2_607;

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// Creates the bystanders, and waits until all lists show them and no replica is behind them any more.
pub(crate) async fn create(
    api: &HttpApi,
    bystanders: &mut Bystanders,
    behind: Duration,
) -> anyhow::Result<()> {
    for step in bystanders.steps.drain(..) {
        let created = step.into_iter().map(|call| answer(api, call));
        let created = stream::iter(created).buffer_unordered(CONCURRENT_REQUESTS);
        created.try_for_each(async |_| Ok(())).await?;
    }
    let started = Instant::now();
    for (path, count) in &bystanders.lists {
        while list(api, path).await? < *count {
            ensure!(started.elapsed() < MAX_COPIES, "{path} does not show all bystanders");
            tokio::time::sleep(PAUSE).await;
        }
    }
    tokio::time::sleep(behind).await;
    Ok(())
}

/// Reads random lists until it is dropped. Returns the error of one that lacks a bystander.
pub(crate) async fn keep_reading(
    api: &HttpApi,
    bystanders: &Bystanders,
    seed: u64,
    lists_read: &mut usize,
) -> anyhow::Error {
    if bystanders.lists.is_empty() {
        return std::future::pending().await;
    }
    let mut random = Random::stream(seed, RANDOM_STREAM);
    loop {
        let (path, count) = &bystanders.lists[random.index(bystanders.lists.len())];
        match list(api, path).await {
            Ok(shown) if shown == *count => *lists_read += 1,
            Ok(shown) => return anyhow::anyhow!("{path} shows {shown} of {count} bystanders"),
            Err(error) => return error,
        }
    }
}

/// Returns the lists that do not show all bystanders, a sentence each.
pub(crate) async fn missing(api: &HttpApi, bystanders: &Bystanders) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    for (path, count) in &bystanders.lists {
        let shown = list(api, path).await?;
        if shown != *count {
            missing.push(format!("{path} shows {shown} of {count} bystanders"));
        }
    }
    Ok(missing)
}

/// Returns the number of items in a list.
async fn list(api: &HttpApi, path: &str) -> anyhow::Result<usize> {
    let mut shown = 0;
    let mut cursor = String::new();
    loop {
        let page = answer(api, Call::get(format!("{path}?limit=100{cursor}"))).await?;
        shown += page["items"].as_array().map_or(0, Vec::len);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(shown),
        }
    }
}

/// Sends a request until its answer is a success.
async fn answer(api: &HttpApi, call: Call) -> anyhow::Result<Value> {
    let started = Instant::now();
    let path = call.path.clone();
    while started.elapsed() < MAX_ANSWER {
        match api.send(call.clone()).await {
            Some(reply) if (200..300).contains(&reply.status) => return Ok(reply.body),
            Some(reply) if !reply.is_unknown() => {
                bail!("{path} was answered {}: {}", reply.status, reply.body)
            }
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
    Err(anyhow::anyhow!("no answer in time")).context(path)
}
