//! Waiting until it is certain that a suspect is not just a change on its way.

use std::{collections::HashMap, time::Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::{
    Finding, LOOKS, Options,
    finding::{Kind, Suspect, Target},
    look::Looker,
    repair::mend,
};
use crate::cosmos::{Retryable, StoreError, retry};

/// How many suspects wait together; some 500 bytes each.
const TOGETHER: usize = 1_000;

/// Into how many parts the pause is divided, with a look after each.
const PARTS: u32 = 2;

/// After how many pauses a suspect that never stands still is left alone.
const PATIENCE: u32 = 4;

/// The suspects that wait.
pub(super) struct Suspects<'a> {
    looker: &'a Looker,
    options: Options,
    waiting: Vec<(Suspect, Instant)>,
}

/// What has become of the suspects.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) findings: Vec<Finding>,
    pub(super) unsettled: u64,
}

impl<'a> Suspects<'a> {
    pub(super) fn new(looker: &'a Looker, options: Options) -> Self {
        Self { looker, options, waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, suspects: Vec<Suspect>) {
        let now = Instant::now();
        self.waiting.extend(suspects.into_iter().map(|suspect| (suspect, now)));
    }

    pub(super) fn are_many(&self) -> bool {
        self.waiting.len() >= TOGETHER
    }

    /// Looks again until each suspect is cleared, or has stood for the whole pause: then it is a
    /// finding, and mended when that is asked for.
    pub(super) async fn settle(&mut self) -> Result<Settled, StoreError> {
        let Options { settle, repair } = self.options;
        let part = settle / PARTS;
        let mut settled = Settled::default();
        for round in 1..=PARTS * PATIENCE {
            if self.waiting.is_empty() {
                return Ok(settled);
            }
            tokio::time::sleep(part).await;
            let look = Instant::now();
            self.look_again(&settled.findings).await?;
            // A suspect has been looked at in each part of its pause, and after it.
            let (mut stood, waiting): (Vec<_>, _) =
                std::mem::take(&mut self.waiting).into_iter().partition(|(_, since)| {
                    round >= PARTS && look.saturating_duration_since(*since) >= settle
                });
            self.waiting = waiting;
            // A user whose name is reserved for somebody else takes the reservation over: that
            // must come before it is deleted for being leaked.
            stood.sort_by_key(|(suspect, _)| suspect.finding.kind == Kind::ReservationLeaked);
            for (suspect, _) in stood {
                let repair = if repair { Some(mend(self.looker, &suspect).await?) } else { None };
                settled.findings.push(Finding { repair, ..suspect.finding });
            }
        }
        settled.unsettled = self.waiting.len() as u64;
        self.waiting.clear();
        Ok(settled)
    }

    /// Keeps what is still wrong. What is wrong in another way than before starts waiting anew,
    /// but for what was reported of the same target and stays.
    async fn look_again(&mut self, reported: &[Finding]) -> Result<(), StoreError> {
        let mut targets: HashMap<Target, Vec<(Suspect, Instant)>> = HashMap::new();
        for (suspect, since) in self.waiting.drain(..) {
            targets.entry(suspect.target.clone()).or_default().push((suspect, since));
        }
        let looker = self.looker;
        let looks = targets.into_iter().map(async |(target, before)| {
            let now = patiently(|| looker.look_again(&target)).await?;
            Ok::<_, StoreError>(
                now.into_iter()
                    .filter(|suspect| {
                        let stays =
                            |one: &Finding| !one.is_mended() && one.is_same(&suspect.finding);
                        !reported.iter().any(stays)
                    })
                    .map(move |suspect| {
                        let known = before.iter().find(|(before, _)| suspect.stands_in(before));
                        let since = known.map_or_else(Instant::now, |(_, since)| *since);
                        (suspect, since)
                    })
                    .collect::<Vec<_>>(),
            )
        });
        self.waiting = stream::iter(looks).buffer_unordered(LOOKS).try_concat().await?;
        Ok(())
    }
}

/// Reads again when the store was busy: an audit of an hour does not end for that.
pub(super) async fn patiently<T, A>(look: impl Fn() -> A) -> Result<T, StoreError>
where
    A: Future<Output = Result<T, StoreError>>,
{
    let attempt = |_| {
        let look = look();
        async { look.await.map_err(Busy) }
    };
    retry(attempt).await.map_err(|Busy(error)| error)
}

struct Busy(StoreError);

impl Retryable for Busy {
    fn is_retryable(&self) -> bool {
        self.0.is_transient()
    }

    fn of_store(&self) -> Option<&StoreError> {
        Some(&self.0)
    }
}
