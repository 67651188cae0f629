//! The clients: each does one operation after the other, until it knows the outcome.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures::future::join_all;
use tributary_local::chaos::Random;
use tributary_tools::Call;

use crate::{Api, Reply, Workload};

/// What the clients do.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// How many operations in all.
    pub operations: usize,
    /// What all choices come from.
    pub seed: u64,
    /// How long a client waits before it sends again; `Retry-After` says a second.
    pub patience: Duration,
    /// Whether handlers are killed, so that the host may answer 500 for one.
    pub crashes: bool,
}

/// What the clients met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations that were acknowledged: answered with 2xx or an expected 4xx.
    pub acknowledged: usize,
    /// Answers of 429.
    pub throttled: usize,
    /// Answers of 503.
    pub unavailable: usize,
    /// Answers that did not come, because the handler was killed: the host's empty 500.
    pub killed: usize,
    /// Answers that are not right, each in a sentence.
    pub wrong: Vec<String>,
}

/// An operation that is sent so often, or for so long, without a known outcome is not answered
/// honestly.
const MOST_TRIES: usize = 300;
const LONGEST: Duration = Duration::from_mins(3);
/// More wrong answers tell nothing new.
const MOST_WRONG: usize = 20;
/// The most of what the model knows that is shown, in bytes.
const MOST_KNOWN: usize = 1_000;

/// Lets all clients work until their operations are done. Returns the model of what is known.
///
/// # Errors
/// Never, once all clients have ended.
pub async fn simulate<W: Workload>(
    api: Arc<dyn Api>,
    workload: W,
    simulation: &Simulation,
) -> anyhow::Result<(W, Tally)> {
    let clients = workload.clients();
    let model = Arc::new(Mutex::new(workload));
    let clients = (0..clients).map(|number| {
        let client = Client {
            number,
            operations: simulation.operations.div_ceil(clients),
            random: Random::stream(simulation.seed, 100 + number as u64),
            api: api.clone(),
            model: model.clone(),
            simulation: simulation.clone(),
            tally: Tally::default(),
        };
        tokio::spawn(client.work())
    });
    let mut all = Tally::default();
    for (number, tally) in join_all(clients).await.into_iter().enumerate() {
        match tally {
            Ok(tally) => all.add(tally),
            Err(error) => all.wrong.push(format!("client {number} ended early: {error}")),
        }
    }
    let model = Arc::into_inner(model).context("a client still runs")?;
    Ok((model.into_inner().unwrap_or_else(PoisonError::into_inner), all))
}

struct Client<W> {
    number: usize,
    /// How many operations it does.
    operations: usize,
    random: Random,
    api: Arc<dyn Api>,
    model: Arc<Mutex<W>>,
    simulation: Simulation,
    tally: Tally,
}

impl<W: Workload> Client<W> {
    async fn work(mut self) -> Tally {
        for _ in 0..self.operations {
            self.operate().await;
            if self.tally.wrong.len() >= MOST_WRONG {
                break;
            }
        }
        self.tally
    }

    async fn operate(&mut self) {
        let (operation, begun, call) = {
            let mut random = self.random.fork();
            let mut model = self.model();
            let operation = model.next(self.number, &mut random);
            let begun = model.begin(&operation);
            let call = model.call(&operation);
            (operation, begun, call)
        };
        let killed = self.tally.killed;
        let (reply, repeated) = self.ask(&call).await;
        let (number, killed) = (self.number, self.tally.killed - killed);
        let mut model = self.model();
        model.was_killed(&operation, killed);
        if model.finish(number, &operation, &begun, &reply, repeated) {
            drop(model);
            self.tally.acknowledged += 1;
            return;
        }
        let mut known = model.known(&operation);
        drop(model);
        known.truncate(known.floor_char_boundary(MOST_KNOWN));
        let Reply { status, body, .. } = reply;
        self.tally.wrong.push(format!(
            "{operation:?} (sent again: {repeated}); known: {known}; it was answered {status} {body}"
        ));
    }

    /// Sends a request until its outcome is known; tells whether it was sent more than once.
    async fn ask(&mut self, call: &Call) -> (Reply, bool) {
        let (mut tries, begun) = (1, Instant::now());
        loop {
            let reply = self.api.send(call.clone()).await;
            let status = reply.as_ref().map_or(500, |reply| reply.status);
            let none_came = reply.as_ref().is_none_or(Reply::is_of_host);
            if let Some(wrong) = reply.as_ref().and_then(Reply::wrong_retry_after)
                && self.tally.wrong.len() < MOST_WRONG
            {
                self.tally.wrong.push(format!("{} {}: {wrong}", call.method, call.path));
            }
            match status {
                429 => self.tally.throttled += 1,
                503 => self.tally.unavailable += 1,
                _ if none_came && self.simulation.crashes => self.tally.killed += 1,
                _ => {}
            }
            let unknown = reply.as_ref().is_none_or(Reply::is_unknown);
            let honest = !none_came || self.simulation.crashes;
            let is_last = tries == MOST_TRIES || begun.elapsed() > LONGEST;
            if !unknown || !honest || is_last {
                let none = || Reply { status, body: "no answer".into(), retry_after: None };
                return (reply.unwrap_or_else(none), tries > 1);
            }
            tries += 1;
            tokio::time::sleep(self.simulation.patience).await;
        }
    }

    fn model(&self) -> MutexGuard<'_, W> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.throttled += other.throttled;
        self.unavailable += other.unavailable;
        self.killed += other.killed;
        self.wrong.extend(other.wrong);
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::BoxFuture};
    use http::{HeaderMap, StatusCode, header::RETRY_AFTER};

    use super::*;
    use crate::blog::{Blog, Size};

    /// Answers with a status and a `Retry-After`, and with 200 when it is asked again.
    struct Busy(Mutex<Option<Reply>>);

    impl Api for Busy {
        fn send(&self, _: Call) -> BoxFuture<'_, Option<Reply>> {
            let busy = self.0.lock().unwrap().take();
            let done = || Reply::new(StatusCode::OK, &HeaderMap::new(), b"{}");
            async move { Some(busy.unwrap_or_else(done)) }.boxed()
        }
    }

    /// What a client makes of an answer.
    async fn met(status: StatusCode, retry_after: Option<&str>) -> Tally {
        let mut headers = HeaderMap::new();
        if let Some(text) = retry_after {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        let busy = Busy(Mutex::new(Some(Reply::new(status, &headers, b"{}"))));
        let size = Size { clients: 1, users: 1, posts: 1, reuse_ids: false };
        let mut client = Client {
            number: 0,
            operations: 1,
            random: Random::stream(1, 1),
            api: Arc::new(busy),
            model: Arc::new(Mutex::new(Blog::new(size, Duration::ZERO))),
            simulation: Simulation {
                operations: 1,
                seed: 1,
                patience: Duration::ZERO,
                crashes: false,
            },
            tally: Tally::default(),
        };
        client.ask(&Call::get("/api/feed")).await;
        client.tally
    }

    #[tokio::test]
    async fn a_429_or_503_without_a_valid_retry_after_is_a_wrong_answer() {
        for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
            for text in [None, Some(""), Some("soon"), Some("-1"), Some("1.5"), Some("+1")] {
                let wrong = met(status, text).await.wrong;
                assert_eq!(wrong.len(), 1, "{status} with {text:?}: {wrong:?}");
            }
            let tally = met(status, Some("1")).await;
            assert!(tally.wrong.is_empty(), "{:?}", tally.wrong);
            assert_eq!(tally.throttled + tally.unavailable, 1);
        }
    }

    #[tokio::test]
    async fn other_answers_need_no_retry_after() {
        assert_eq!(met(StatusCode::OK, None).await, Tally::default());
    }
}
