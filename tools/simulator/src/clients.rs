//! The clients: each sends one operation after the other, until it knows the outcome.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures::future::join_all;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use crate::{
    api::{Api, RETRY_PAUSE, Reply},
    workload::Workload,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerTally {
    /// Operations that were answered with 2xx or an expected 4xx.
    pub(crate) acknowledged: usize,
    pub(crate) throttled: usize,
    pub(crate) unavailable: usize,
    /// Missing answers after a kill of the handler: the host's empty 500.
    pub(crate) killed: usize,
    pub(crate) wrong: Vec<String>,
}

/// The number of attempts, and their time, after which an operation without a known outcome is a wrong
/// answer.
const MAX_ATTEMPTS: usize = 300;
const MAX_OPERATION_TIME: Duration = Duration::from_mins(3);
/// Further wrong answers are not shown.
const MAX_WRONG_ANSWERS: usize = 20;
/// The bytes of the model's knowledge that are shown at most.
const MAX_KNOWN_BYTES: usize = 1_000;

/// Lets all clients work until their operations are done. Returns the model. `crashes` is true if
/// handlers are killed, so that the host may answer 500 for one.
pub(crate) async fn simulate<W: Workload>(
    api: Arc<Api>,
    workload: W,
    operations: usize,
    seed: u64,
    crashes: bool,
) -> anyhow::Result<(W, AnswerTally)> {
    let clients = workload.clients();
    let model = Arc::new(Mutex::new(workload));
    let running = (0..clients).map(|number| {
        let random = Random::stream(seed, 100 + number as u64);
        let (api, model, tally) = (api.clone(), model.clone(), AnswerTally::default());
        let client = SimulatedClient { number, random, api, model, crashes, tally };
        tokio::spawn(client.work(operations.div_ceil(clients)))
    });
    let mut all = AnswerTally::default();
    for (number, tally) in join_all(running).await.into_iter().enumerate() {
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
    random: Random,
    api: Arc<Api>,
    model: Arc<Mutex<W>>,
    crashes: bool,
    tally: AnswerTally,
}

impl<W: Workload> SimulatedClient<W> {
    async fn work(mut self, operations: usize) -> AnswerTally {
        for _ in 0..operations {
            self.operate().await;
            if self.tally.wrong.len() >= MAX_WRONG_ANSWERS {
                break;
            }
        }
        self.tally
    }

    async fn operate(&mut self) {
        let mut random = self.random.fork();
        let operation = self.model().next(self.number, &mut random);
        let call = operation.call;
        let reply = self.ask(&call).await;
        let verdict = (operation.finish)(&mut *self.model(), &reply);
        match verdict {
            Ok(()) => self.tally.acknowledged += 1,
            Err(mut known) => {
                known.truncate(known.floor_char_boundary(MAX_KNOWN_BYTES));
                let Call { method, path, body, .. } = call;
                self.tally.wrong.push(format!(
                    "{method} {path} {body:?} was answered {reply:?}; known: {known}"
                ));
            }
        }
    }

    async fn ask(&mut self, call: &Call) -> Reply {
        let started = Instant::now();
        let mut attempts = 1;
        let mut kills = 0;
        loop {
            let reply = self.api.send(call).await;
            let no_answer = reply.as_ref().is_none_or(Reply::is_of_host);
            let unanswered = || Reply { status: 500, body: "no answer".into(), ..Reply::default() };
            let is_unknown = reply.as_ref().is_none_or(Reply::is_unknown);
            let reply = reply.unwrap_or_else(unanswered);
            if let Some(wrong) = reply.wrong_retry_after()
                && self.tally.wrong.len() < MAX_WRONG_ANSWERS
            {
                self.tally.wrong.push(format!("{} {}: {wrong}", call.method, call.path));
            }
            match reply.status {
                429 => self.tally.throttled += 1,
                503 => self.tally.unavailable += 1,
                _ if no_answer && self.crashes => kills += 1,
                _ => {}
            }
            let is_fault = no_answer && !self.crashes;
            let is_last = attempts == MAX_ATTEMPTS || started.elapsed() > MAX_OPERATION_TIME;
            if !is_unknown || is_fault || is_last {
                self.tally.killed += kills;
                return Reply { repeated: attempts > 1, kills, ..reply };
            }
            attempts += 1;
            tokio::time::sleep(RETRY_PAUSE).await;
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
