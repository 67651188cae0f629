//! The lag from a write to its copies, under a steady load.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time};
use tokio_util::sync::CancellationToken;
use tributary_local::host::{HttpInvoker, InvocationResult, Invoker};

use super::{
    ALL, OF_POSTS,
    app::FeedApp,
    blog::{USERS, post_id, user_id},
    drain,
};
use crate::report::{Sorted, Table};

/// The posts that exist before, and get comments and likes.
const N_POSTS: usize = 200;

/// The pause of the pump after an empty read: that of the functions, and a shorter one.
const POLL_DELAYS: [Option<Duration>; 2] = [None, Some(Duration::from_millis(50))];

/// The longest wait for the last changes.
const APPLY_DEADLINE: Duration = Duration::from_secs(30);

/// Measures the lag of the projections that read `posts`.
pub(super) async fn lag(rate: u32, seconds: u32) -> anyhow::Result<Table> {
    let mut table =
        Table::new(["poll delay, ms", "projection", "writes", "p50, ms", "p99, ms", "most, ms"]);
    for poll_delay in POLL_DELAYS {
        let lags = under_load(rate, seconds, poll_delay).await?;
        let delay = poll_delay.map_or("1000".into(), |delay| delay.as_millis().to_string());
        for (function, lags) in OF_POSTS.iter().zip(lags) {
            let writes = lags.len().to_string();
            let lags = Sorted::from(lags);
            let [p50, p99, most] = [lags.percentile(50), lags.percentile(99), lags.max()]
                .map(|lag| lag.as_millis().to_string());
            table.row([delay.clone(), (*function).into(), writes, p50, p99, most]);
        }
    }
    Ok(table)
}

async fn under_load(
    rate: u32,
    seconds: u32,
    poll_delay: Option<Duration>,
) -> anyhow::Result<Vec<Vec<Duration>>> {
    let app = Arc::new(FeedApp::start().await?);
    app.users().await?;
    app.blog.write_posts(0..N_POSTS).await?;
    drain(&app, &ALL).await?;

    let stop = CancellationToken::new();
    let mut pumps = JoinSet::new();
    let mut watches = Vec::new();
    for function in OF_POSTS {
        let watch = Arc::new(Watch::default());
        let invoker = Watched { inner: HttpInvoker::new(&*app.url), watch: watch.clone() };
        let pump = app.pump_into(function, Arc::new(invoker), poll_delay)?;
        let stop = stop.clone();
        pumps.spawn(async move { pump.run(stop).await });
        watches.push(watch);
    }

    let mut ticks = time::interval(Duration::from_secs(1) / rate);
    let mut writes = JoinSet::new();
    for n in 0..(rate * seconds) as usize {
        ticks.tick().await;
        let app = app.clone();
        let watches = watches.clone();
        writes.spawn(async move { write(&app, n, &watches).await });
    }
    while let Some(written) = writes.join_next().await {
        written??;
    }
    let deadline = Instant::now() + APPLY_DEADLINE;
    while watches.iter().any(|watch| watch.lock().waits()) {
        ensure!(Instant::now() < deadline, "some writes never reached a projection");
        time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    while pumps.join_next().await.is_some() {}
    drain(&app, &ALL).await?;
    app.check().await?;
    Ok(watches.iter().map(|watch| std::mem::take(&mut watch.lock().lags)).collect())
}

/// Writes a post, or a comment or like of an existing one: two of five each.
async fn write(app: &FeedApp, n: usize, watches: &[Arc<Watch>]) -> anyhow::Result<()> {
    let user = user_id(n % USERS);
    let post = post_id(n * 7 % N_POSTS);
    let user_of_like = user_id(n / 3 % USERS);
    let (post, answer) = match n % 5 {
        0 => {
            let body = json!({"userId": user, "title": "New", "content": "A text."});
            let post = format!("new-{n}");
            (post.clone(), app.send("PUT", &format!("/api/posts/{post}"), &body).await?)
        }
        1 | 2 => {
            let body = json!({"userId": user, "content": "A word on this."});
            let path = format!("/api/posts/{post}/comments");
            (post, app.send("POST", &path, &body).await?)
        }
        _ => {
            let path = format!("/api/posts/{post}/likes/{user_of_like}");
            (post, app.send("PUT", &path, &Value::Null).await?)
        }
    };
    match answer {
        (201, _) => {
            for watch in watches {
                watch.lock().written(&post, !n.is_multiple_of(5));
            }
            Ok(())
        }
        // Liked before: no write.
        (200, _) => Ok(()),
        (status, answer) => bail!("a write was answered with {status}: {answer}"),
    }
}

/// The writes, and the changes that one projection has applied.
#[derive(Default)]
struct Watch(Mutex<WatchState>);

#[derive(Default)]
struct WatchState {
    posts: HashMap<String, PostVersions>,
    lags: Vec<Duration>,
}

/// A post, whose versions differ by the sum of their comments and likes.
#[derive(Default)]
struct PostVersions {
    written: u64,
    applied: Option<u64>,
    /// The written versions that are not applied yet, and their times.
    waiting: Vec<(u64, Instant)>,
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchState {
    fn waits(&self) -> bool {
        self.posts.values().any(|post| !post.waiting.is_empty())
    }

    fn written(&mut self, id: &str, is_reaction: bool) {
        let post = self.posts.entry(id.to_owned()).or_default();
        post.written += u64::from(is_reaction);
        // The delivery may have been earlier than the answer.
        if post.applied.is_some_and(|applied| applied >= post.written) {
            self.lags.push(Duration::ZERO);
        } else {
            post.waiting.push((post.written, Instant::now()));
        }
    }

    fn applied(&mut self, id: &str, reactions: u64) {
        let now = Instant::now();
        let post = self.posts.entry(id.to_owned()).or_default();
        post.applied = post.applied.max(Some(reactions));
        let lags = &mut self.lags;
        post.waiting.retain(|(written, at)| {
            let waits = *written > reactions;
            if !waits {
                lags.push(now - *at);
            }
            waits
        });
    }
}

/// An invoker that delivers, and records the applied changes.
struct Watched {
    inner: HttpInvoker,
    watch: Arc<Watch>,
}

impl Invoker for Watched {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            let result = self.inner.invoke(function, invocation_id, body.clone()).await;
            if result.is_ok() {
                let mut seen = self.watch.lock();
                for document in documents(&body).iter().filter(|item| item["type"] == "post") {
                    let count = |name: &str| document[name].as_u64().unwrap_or(0);
                    let id = document["id"].as_str().unwrap_or_default();
                    seen.applied(id, count("commentCount") + count("likeCount"));
                }
            }
            result
        }
        .boxed()
    }
}

/// Returns the documents of an invocation, which are encoded twice.
fn documents(body: &Bytes) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = body["Data"]["documents"].as_str().unwrap_or_default();
    let text: Value = serde_json::from_str(text).unwrap_or_default();
    match text {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        Value::Array(documents) => documents,
        _ => Vec::new(),
    }
}
