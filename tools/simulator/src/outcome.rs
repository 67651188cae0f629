//! The outcome of a seed.

use std::{fmt, time::Duration};

use tributary_local::chaos::ChaosKind;

use crate::clients::AnswerTally;

/// The number of lines of each list that are shown.
const MAX_SHOWN_LINES: usize = 20;

/// The outcome of a seed.
pub(crate) struct SeedOutcome {
    pub(crate) tally: AnswerTally,
    pub(crate) injected: Vec<(ChaosKind, u64)>,
    /// Counts of other things.
    pub(crate) counts: Vec<(&'static str, u64)>,
    /// The dead letters that no poisoned item explains: no fault of chaos is permanent.
    pub(crate) dead_letters: Vec<String>,
    pub(crate) divergences: Vec<String>,
    pub(crate) duration: Duration,
}

impl SeedOutcome {
    pub(crate) fn is_right(&self) -> bool {
        self.tally.wrong.is_empty() && self.divergences.is_empty() && self.dead_letters.is_empty()
    }
}

impl fmt::Display for SeedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnswerTally { acknowledged, throttled, unavailable, killed, wrong } = &self.tally;
        let verdict = if self.is_right() { "right" } else { "WRONG" };
        write!(
            f,
            "{verdict} after {:.0} s; {acknowledged} acknowledged, 429 {throttled}, 503 \
             {unavailable}, killed {killed}",
            self.duration.as_secs_f64()
        )?;
        let injected = self.injected.iter().map(|(kind, count)| (kind.name(), *count));
        for (what, count) in injected.chain(self.counts.iter().copied()) {
            write!(f, ", {what} {count}")?;
        }
        for (what, list) in
            [("wrong", wrong), ("dead letter", &self.dead_letters), ("differs", &self.divergences)]
        {
            for line in list.iter().take(MAX_SHOWN_LINES) {
                write!(f, "\n  {what}: {line}")?;
            }
            if list.len() > MAX_SHOWN_LINES {
                write!(f, "\n  {what}: {} in all", list.len())?;
            }
        }
        Ok(())
    }
}
