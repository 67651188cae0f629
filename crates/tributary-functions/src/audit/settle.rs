//! The pause in which a suspect may turn out to be a change on its way.

use std::{collections::HashMap, time::Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::{
    AuditOptions, Checks, Finding, MAX_CONCURRENT_CHECKS, Suspect, Target,
    repair::{recheck, repair, retry_transient},
};
use crate::cosmos::StoreError;

/// The most suspects that wait together; some 500 bytes each.
const MAX_WAITING_SUSPECTS: usize = 1_000;

const CHECKS_PER_PAUSE: u32 = 2;

/// The pauses after which a suspect that keeps changing is left alone.
const MAX_PAUSES: u32 = 4;

pub(super) struct Suspects<'a> {
    checks: &'a dyn Checks,
    options: AuditOptions,
    waiting: Vec<(Suspect, Instant)>,
}

impl<'a> Suspects<'a> {
    pub(super) fn new(checks: &'a dyn Checks, options: AuditOptions) -> Self {
        Self { checks, options, waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, suspects: Vec<Suspect>) {
        let now = Instant::now();
        self.waiting.extend(suspects.into_iter().map(|suspect| (suspect, now)));
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING_SUSPECTS
    }

    /// Checks the suspects again until each is cleared, or has stood for the whole pause and is a finding. Returns
    /// the findings, and the number of the suspects that kept changing.
    pub(super) async fn settle(&mut self) -> Result<(Vec<Finding>, u64), StoreError> {
        let AuditOptions { settle, repair: repairs } = self.options;
        let part = settle / CHECKS_PER_PAUSE;
        let mut findings = Vec::new();
        for round in 1..=CHECKS_PER_PAUSE * MAX_PAUSES {
            if self.waiting.is_empty() {
                return Ok((findings, 0));
            }
            tokio::time::sleep(part).await;
            let checked = Instant::now();
            self.recheck(&findings).await?;
            // A suspect has been checked in each part of its pause, and after it.
            let (mut stood, waiting): (Vec<_>, _) =
                std::mem::take(&mut self.waiting).into_iter().partition(|(_, since)| {
                    round >= CHECKS_PER_PAUSE && checked.saturating_duration_since(*since) >= settle
                });
            self.waiting = waiting;
            stood.sort_by_key(|(suspect, _)| suspect.finding.kind.repaired_last);
            for (suspect, _) in stood {
                let repair =
                    if repairs { Some(repair(self.checks, &suspect).await?) } else { None };
                findings.push(Finding { repair, ..suspect.finding });
            }
        }
        Ok((findings, self.waiting.drain(..).count() as u64))
    }

    /// A divergence that differs from the one before begins its pause anew, unless it was reported and not repaired.
    async fn recheck(&mut self, reported: &[Finding]) -> Result<(), StoreError> {
        let mut targets: HashMap<Target, Vec<(Suspect, Instant)>> = HashMap::new();
        for (suspect, since) in self.waiting.drain(..) {
            targets.entry(suspect.target.clone()).or_default().push((suspect, since));
        }
        let checks = self.checks;
        let checked = targets.into_iter().map(async |(target, before)| {
            let now = retry_transient(|| recheck(checks, &target)).await?;
            Ok::<_, StoreError>(
                now.into_iter()
                    .filter(|suspect| {
                        let stays = |finding: &Finding| {
                            !finding.is_repaired() && finding.is_same(&suspect.finding)
                        };
                        !reported.iter().any(stays)
                    })
                    .map(move |suspect| {
                        let known =
                            before.iter().find(|(before, _)| suspect.is_unchanged_from(before));
                        let since = known.map_or_else(Instant::now, |(_, since)| *since);
                        (suspect, since)
                    })
                    .collect::<Vec<_>>(),
            )
        });
        self.waiting =
            stream::iter(checked).buffer_unordered(MAX_CONCURRENT_CHECKS).try_concat().await?;
        Ok(())
    }
}
