//! The clients: each sends one operation after the other, until it knows the outcome.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use futures::future::join_all;
use tributary_local::{
    chaos::{ChaosKind, ChaosSpec, Random},
    client::Call,
};

use crate::{
    MAX_LAG,
    api::{Api, RETRY_PAUSE, Reply},
    workload::{CLIENTS, Workload},
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
const MAX_WRONG_ANSWERS: usize = 20;
const MAX_KNOWN_BYTES: usize = 1_000;

pub(crate) async fn simulate<W: Workload>(
    api: &Api,
    workload: W,
    operations: usize,
    seed: u64,
    spec: &ChaosSpec,
) -> (W, AnswerTally) {
    let simulation = Simulation {
        api,
        crashes: spec.probability(ChaosKind::Crash) > 0.0,
        max_lag: if spec.probability(ChaosKind::Stale) > 0.0 { MAX_LAG } else { Duration::ZERO },
        model: RefCell::new(workload),
        tally: RefCell::default(),
    };
    join_all((0..CLIENTS).map(async |client| {
        let mut random = Random::stream(seed, 100 + client as u64);
        for _ in 0..operations.div_ceil(CLIENTS) {
            if simulation.tally.borrow().wrong.len() < MAX_WRONG_ANSWERS {
                simulation.operate(client, random.fork()).await;
            }
        }
    }))
    .await;
    (simulation.model.into_inner(), simulation.tally.into_inner())
}

/// What the clients share. They take turns in one task.
struct Simulation<'a, W> {
    api: &'a Api,
    /// True if handlers are killed, so that the host may answer 500 for one.
    crashes: bool,
    max_lag: Duration,
    model: RefCell<W>,
    tally: RefCell<AnswerTally>,
}

impl<W: Workload> Simulation<'_, W> {
    async fn operate(&self, client: usize, mut random: Random) {
        let begin = Instant::now();
        let operation = self.model.borrow_mut().next(client, &mut random);
        let call = operation.call;
        let oldest = begin.checked_sub(self.max_lag).unwrap_or(begin);
        let reply = Reply { oldest, ..self.ask(&call).await };
        let verdict = (operation.finish)(&mut *self.model.borrow_mut(), &reply);
        let mut tally = self.tally.borrow_mut();
        match verdict {
            Ok(()) => tally.acknowledged += 1,
            Err(mut known) => {
                known.truncate(known.floor_char_boundary(MAX_KNOWN_BYTES));
                let Call { method, path, body, .. } = call;
                tally.wrong.push(format!(
                    "{method} {path} {body:?} was answered {reply:?}; known: {known}"
                ));
            }
        }
    }

    async fn ask(&self, call: &Call) -> Reply {
        let started = Instant::now();
        let mut attempts = 1;
        let mut kills = 0;
        loop {
            let reply = self.api.send(call).await;
            let no_answer = reply.as_ref().is_none_or(Reply::is_of_host);
            let is_unknown = reply.as_ref().is_none_or(Reply::is_unknown);
            let reply = reply.unwrap_or_else(|| Reply::new(500, "no answer".into()));
            self.tally.borrow_mut().add(call, &reply);
            kills += usize::from(no_answer && self.crashes);
            let is_fault = no_answer && !self.crashes;
            let is_last = attempts == MAX_ATTEMPTS || started.elapsed() > MAX_OPERATION_TIME;
            if !is_unknown || is_fault || is_last {
                self.tally.borrow_mut().killed += kills;
                return Reply { repeated: attempts > 1, ..reply };
            }
            attempts += 1;
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

impl AnswerTally {
    fn add(&mut self, call: &Call, reply: &Reply) {
        self.throttled += usize::from(reply.status == 429);
        self.unavailable += usize::from(reply.status == 503);
        let is_wrong = reply.is_refused() && reply.retry_after.is_none();
        if is_wrong && self.wrong.len() < MAX_WRONG_ANSWERS {
            let Call { method, path, .. } = call;
            self.wrong.push(format!("{method} {path}: no Retry-After in seconds in {reply:?}"));
        }
    }
}
