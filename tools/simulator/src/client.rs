//! The clients: each sends one operation after the other, until it knows the outcome.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures::future::join_all;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use crate::{Api, Reply, Workload};

/// The options of the clients.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The number of operations in all.
    pub operations: usize,
    /// The seed of all choices.
    pub seed: u64,
    /// The pause of a client before a retry; `Retry-After` says a second.
    pub patience: Duration,
    /// True if handlers are killed, so that the host may answer 500 for one.
    pub crashes: bool,
}

/// The counts of the clients' answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerTally {
    /// Acknowledged operations: answered with 2xx or an expected 4xx.
    pub acknowledged: usize,
    /// Answers of 429.
    pub throttled: usize,
    /// Answers of 503.
    pub unavailable: usize,
    /// Missing answers after a kill of the handler: the host's empty 500.
    pub killed: usize,
    /// Wrong answers, each in a sentence.
    pub wrong: Vec<String>,
}

/// The number of attempts, and their time, after which an operation without a known outcome is a wrong
/// answer.
const MAX_ATTEMPTS: usize = 300;
const MAX_OPERATION_TIME: Duration = Duration::from_mins(3);
/// Further wrong answers are not shown.
const MAX_WRONG_ANSWERS: usize = 20;
/// The bytes of the model's knowledge that are shown at most.
const MAX_KNOWN_BYTES: usize = 1_000;

/// Lets all clients work until their operations are done. Returns the model.
///
/// # Errors
///
/// Never, once all clients have ended.
pub async fn simulate<W: Workload>(
    api: Arc<dyn Api>,
    workload: W,
    simulation: &Simulation,
) -> anyhow::Result<(W, AnswerTally)> {
    let clients = workload.clients();
    let model = Arc::new(Mutex::new(workload));
    let clients = (0..clients).map(|number| {
        let client = SimulatedClient {
            number,
            operations: simulation.operations.div_ceil(clients),
            random: Random::stream(simulation.seed, 100 + number as u64),
            api: api.clone(),
            model: model.clone(),
            simulation: simulation.clone(),
            tally: AnswerTally::default(),
        };
        tokio::spawn(client.work())
    });
    let mut all = AnswerTally::default();
    for (number, tally) in join_all(clients).await.into_iter().enumerate() {
        match tally {
            Ok(tally) => all.add(tally),
            Err(error) => all.wrong.push(format!("client {number} ended early: {error}")),
        }
    }
    let model = Arc::into_inner(model).context("a client still runs")?;
    Ok((model.into_inner().unwrap_or_else(PoisonError::into_inner), all))
}

struct SimulatedClient<W> {
    number: usize,
    /// The number of its operations.
    operations: usize,
    random: Random,
    api: Arc<dyn Api>,
    model: Arc<Mutex<W>>,
    simulation: Simulation,
    tally: AnswerTally,
}

impl<W: Workload> SimulatedClient<W> {
    async fn work(mut self) -> AnswerTally {
        for _ in 0..self.operations {
            self.operate().await;
            if self.tally.wrong.len() >= MAX_WRONG_ANSWERS {
                break;
            }
        }
        self.tally
    }

    async fn operate(&mut self) {
        let (operation, start, call) = {
            let mut random = self.random.fork();
            let mut model = self.model();
            let operation = model.next(self.number, &mut random);
            let start = model.begin(&operation);
            let call = model.call(&operation);
            (operation, start, call)
        };
        let killed = self.tally.killed;
        let (reply, repeated) = self.ask(&call).await;
        let number = self.number;
        let killed = self.tally.killed - killed;
        let mut model = self.model();
        model.was_killed(&operation, killed);
        if model.finish(number, &operation, &start, &reply, repeated) {
            drop(model);
            self.tally.acknowledged += 1;
            return;
        }
        let mut known = model.known(&operation);
        drop(model);
        known.truncate(known.floor_char_boundary(MAX_KNOWN_BYTES));
        let Reply { status, body, .. } = reply;
        self.tally.wrong.push(format!(
            "{operation:?} (retried: {repeated}); known: {known}; it was answered {status} {body}"
        ));
    }

    /// Sends a request until its outcome is known; also returns true if it was retried.
    async fn ask(&mut self, call: &Call) -> (Reply, bool) {
        let mut tries = 1;
        let start = Instant::now();
        loop {
            let reply = self.api.send(call.clone()).await;
            let status = reply.as_ref().map_or(500, |reply| reply.status);
            let none_came = reply.as_ref().is_none_or(Reply::is_of_host);
            if let Some(wrong) = reply.as_ref().and_then(Reply::wrong_retry_after)
                && self.tally.wrong.len() < MAX_WRONG_ANSWERS
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
            let is_last = tries == MAX_ATTEMPTS || start.elapsed() > MAX_OPERATION_TIME;
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

impl AnswerTally {
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
    use crate::blog::{Blog, BlogSize};

    /// A service that answers once with a status and a `Retry-After`, and then with 200.
    struct Busy(Mutex<Option<Reply>>);

    impl Api for Busy {
        fn send(&self, _: Call) -> BoxFuture<'_, Option<Reply>> {
            let busy = self.0.lock().unwrap().take();
            let done = || Reply::new(StatusCode::OK, &HeaderMap::new(), b"{}");
            async move { Some(busy.unwrap_or_else(done)) }.boxed()
        }
    }

    /// Returns the tally of a client for an answer.
    async fn met(status: StatusCode, retry_after: Option<&str>) -> AnswerTally {
        let mut headers = HeaderMap::new();
        if let Some(text) = retry_after {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        let busy = Busy(Mutex::new(Some(Reply::new(status, &headers, b"{}"))));
        let size = BlogSize { clients: 1, users: 1, posts: 1, reuse_ids: false };
        let mut client = SimulatedClient {
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
            tally: AnswerTally::default(),
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
        assert_eq!(met(StatusCode::OK, None).await, AnswerTally::default());
    }
}
