//! `cargo xtask bench lag`: the lag from a write to its copies, under a steady load, with the pump of the stand-in for
//! the host and the real handler.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use serde_json::Value;
use tokio::{task::JoinSet, time};
use tokio_util::sync::CancellationToken;
use tributary_local::host::{HttpInvoker, InvocationResult, Invoker, async_trait};

use crate::{
    handler::{Connection, MeasuredHandler},
    machine,
    report::{Sorted, Table},
    world::{BenchWorld, OF_POSTS, POSTS, author, comment, post},
};

/// Writes a second.
const RATE: u32 = 50;

/// The pause of the pump after an empty read: that of the functions, and a shorter one.
const POLL_DELAYS: [Option<Duration>; 2] = [None, Some(Duration::from_millis(50))];

const APPLY_DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct LagOptions {
    /// The time of the steady load, in seconds.
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u32,
}

pub(crate) async fn run(options: &LagOptions) -> anyhow::Result<()> {
    let mut table = Table::new("poll delay, ms | projection | writes | p50, ms | p99, ms");
    for poll_delay in POLL_DELAYS {
        let lags = under_load(options.seconds, poll_delay).await?;
        let delay = poll_delay.map_or("1000".into(), |delay| delay.as_millis().to_string());
        for (function, lags) in OF_POSTS.iter().zip(lags) {
            let writes = lags.len().to_string();
            let lags = Sorted::new(lags);
            let [p50, p99] = [50, 99].map(|n| lags.percentile(n).as_millis().to_string());
            table.row([delay.clone(), (*function).into(), writes, p50, p99]);
        }
    }
    println!("{RATE} writes a second; {}\n\n{table}", machine::line());
    Ok(())
}

async fn under_load(
    seconds: u32,
    poll_delay: Option<Duration>,
) -> anyhow::Result<Vec<Vec<Duration>>> {
    let world = BenchWorld::with_blog().await?;
    let handler = MeasuredHandler::ready_on(&world.app).await?;
    let stop = CancellationToken::new();
    let mut pumps = JoinSet::new();
    let mut applied = Vec::new();
    for name in OF_POSTS {
        let times = Arc::new(Mutex::default());
        let inner = HttpInvoker::new(format!("http://{}", handler.address));
        let invoker = Arc::new(Watched { inner, applied: Arc::clone(&times) });
        applied.push(times);
        let functions = &world.app.functions;
        let function = functions.function(name).context("no such function")?;
        let pump = world.pump(function, invoker, poll_delay)?;
        let stop = stop.clone();
        pumps.spawn(async move { pump.run(stop).await });
    }

    let mut ticks = time::interval(Duration::from_secs(1) / RATE);
    let connection = Arc::new(Connection::new(handler.address)?);
    let mut writes = JoinSet::new();
    for n in 0..(RATE * seconds) as usize {
        ticks.tick().await;
        writes.spawn(write(connection.clone(), n));
    }
    let mut written = Vec::new();
    while let Some(one) = writes.join_next().await {
        written.push(one??);
    }
    let deadline = Instant::now() + APPLY_DEADLINE;
    let mut lags = Vec::new();
    for applied in &applied {
        lags.push(loop {
            if let Some(lags) = lags_of(&written, applied) {
                break lags;
            }
            ensure!(Instant::now() < deadline, "some writes never reached a projection");
            time::sleep(Duration::from_millis(20)).await;
        });
    }
    stop.cancel();
    while pumps.join_next().await.is_some() {}
    world.check(&handler).await?;
    Ok(lags)
}

type Applied = Mutex<HashMap<ItemKey, Instant>>;

type ItemKey = (String, String);

/// Returns the lags of the writes if all were applied. A delivery may be earlier than the answer to the write.
fn lags_of(written: &[(ItemKey, Instant)], applied: &Applied) -> Option<Vec<Duration>> {
    let applied = applied.lock().unwrap_or_else(PoisonError::into_inner);
    let lag = |(key, at): &(ItemKey, Instant)| {
        applied.get(key).map(|applied| applied.saturating_duration_since(*at))
    };
    written.iter().map(lag).collect()
}

/// Writes a post, or four of five times a comment on one. Returns the new item with the time of the answer.
async fn write(connection: Arc<Connection>, n: usize) -> anyhow::Result<(ItemKey, Instant)> {
    let is_post = n.is_multiple_of(5);
    let number = if is_post { POSTS + n } else { n * 7 % POSTS };
    let call = if is_post { post(number, "New") } else { comment(number, &author(n)) };
    let reply = connection.send(&call, &n.to_string()).await?;
    let at = Instant::now();
    ensure!(reply.status.is_success(), "{call:?} was answered with {reply:?}");
    Ok(((format!("p{number}"), text(&reply.json(), "id")), at))
}

fn text(item: &Value, name: &str) -> String {
    item[name].as_str().unwrap_or_default().to_owned()
}

struct Watched {
    inner: HttpInvoker,
    applied: Arc<Applied>,
}

#[async_trait]
impl Invoker for Watched {
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult {
        let result = self.inner.invoke(function, invocation_id, body.clone()).await;
        if result.is_ok() {
            let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
            for item in documents(&body).unwrap_or_default() {
                let key = (text(&item, "postId"), text(&item, "id"));
                applied.entry(key).or_insert_with(Instant::now);
            }
        }
        result
    }
}

/// Returns the documents of an invocation, which the stand-in encodes twice.
fn documents(body: &Bytes) -> Option<Vec<Value>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let page: String = serde_json::from_str(body["Data"]["documents"].as_str()?).ok()?;
    serde_json::from_str(&page).ok()
}
