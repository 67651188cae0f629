//! The pause in which a suspect may turn out to be a change on its way.

use std::{collections::HashMap, time::Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::{
    AT_ONCE, AuditOptions, Checks, Finding,
    again::{check_again, patiently},
    finding::{Suspect, Target},
    repair::repair,
};
use crate::cosmos::StoreError;

/// The most suspects that wait together; some 500 bytes each.
const TOGETHER: usize = 1_000;

/// Into how many parts the pause is divided, with a check after each.
const PARTS: u32 = 2;

/// After how many pauses a suspect that keeps changing is left alone.
const PATIENCE: u32 = 4;

/// The suspects that wait.
pub(super) struct Suspects<'a, C> {
    checks: &'a C,
    options: AuditOptions,
    waiting: Vec<(Suspect, Instant)>,
}

/// The outcome of the suspects.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) findings: Vec<Finding>,
    pub(super) unsettled: u64,
}

impl<'a, C: Checks> Suspects<'a, C> {
    pub(super) fn new(checks: &'a C, options: AuditOptions) -> Self {
        Self { checks, options, waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, suspects: Vec<Suspect>) {
        let now = Instant::now();
        self.waiting.extend(suspects.into_iter().map(|suspect| (suspect, now)));
    }

    pub(super) fn are_many(&self) -> bool {
        self.waiting.len() >= TOGETHER
    }

    /// Checks again until each suspect is cleared, or has stood for the whole pause: then it is a
    /// finding, and repaired if the options say so.
    pub(super) async fn settle(&mut self) -> Result<Settled, StoreError> {
        let AuditOptions { settle, repair: repairs } = self.options;
        let part = settle / PARTS;
        let mut settled = Settled::default();
        for round in 1..=PARTS * PATIENCE {
            if self.waiting.is_empty() {
                return Ok(settled);
            }
            tokio::time::sleep(part).await;
            let checked = Instant::now();
            self.check_again(&settled.findings).await?;
            // A suspect has been checked in each part of its pause, and after it.
            let (mut stood, waiting): (Vec<_>, _) =
                std::mem::take(&mut self.waiting).into_iter().partition(|(_, since)| {
                    round >= PARTS && checked.saturating_duration_since(*since) >= settle
                });
            self.waiting = waiting;
            stood.sort_by_key(|(suspect, _)| suspect.finding.kind.is_repaired_last());
            for (suspect, _) in stood {
                let repair =
                    if repairs { Some(repair(self.checks, &suspect).await?) } else { None };
                settled.findings.push(Finding { repair, ..suspect.finding });
            }
        }
        settled.unsettled = self.waiting.len() as u64;
        self.waiting.clear();
        Ok(settled)
    }

    /// Keeps what is still wrong. A divergence that differs from the one before begins its pause anew,
    /// unless it was reported and not repaired.
    async fn check_again(&mut self, reported: &[Finding]) -> Result<(), StoreError> {
        let mut targets: HashMap<Target, Vec<(Suspect, Instant)>> = HashMap::new();
        for (suspect, since) in self.waiting.drain(..) {
            targets.entry(suspect.target.clone()).or_default().push((suspect, since));
        }
        let checks = self.checks;
        let checked = targets.into_iter().map(async |(target, before)| {
            let now = patiently(|| check_again(checks, &target)).await?;
            Ok::<_, StoreError>(
                now.into_iter()
                    .filter(|suspect| {
                        let stays =
                            |one: &Finding| !one.is_repaired() && one.is_same(&suspect.finding);
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
        self.waiting = stream::iter(checked).buffer_unordered(AT_ONCE).try_concat().await?;
        Ok(())
    }
}
