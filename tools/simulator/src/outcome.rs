//! The outcome of a seed, as a row of the table in `docs/chaos.md`.

use std::{fmt, time::Duration};

use tributary_local::chaos::ChaosKind;
use tributary_simulator::AnswerTally;

/// The head of the table.
pub(crate) const HEADER: &str = "\
| seed | acknowledged | wrong | 429 | 503 | killed | duplicates | reorder | overlap | crash | throttle | lost-answer | split | stale | repeat | poisoned | dead letters | explained findings | divergences | s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// The number of lines of each list that are shown.
const MAX_SHOWN_LINES: usize = 20;

/// The outcome of a seed.
pub(crate) struct SeedOutcome {
    pub(crate) seed: u64,
    pub(crate) tally: AnswerTally,
    pub(crate) injected: Vec<(ChaosKind, u64)>,
    /// The number of poisoned items.
    pub(crate) poisoned: usize,
    /// The dead letters of other items.
    pub(crate) dead_letters: Vec<String>,
    /// Findings of the audit that chaos explains, which the repair removed; `None` without an audit.
    pub(crate) explained: Option<usize>,
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
        let seed = self.seed;
        let n_wrong = wrong.len();
        write!(
            f,
            "| {seed} | {acknowledged} | {n_wrong} | {throttled} | {unavailable} | {killed} |"
        )?;
        for (_, count) in &self.injected {
            write!(f, " {count} |")?;
        }
        let explained = self.explained.map_or_else(|| "-".into(), |n| n.to_string());
        write!(
            f,
            " {} | {} | {explained} | {} | {:.0} |",
            self.poisoned,
            self.dead_letters.len(),
            self.divergences.len(),
            self.duration.as_secs_f64()
        )?;
        let lists =
            [("wrong", wrong), ("dead letter", &self.dead_letters), ("differs", &self.divergences)];
        for (what, list) in lists {
            for line in list.iter().take(MAX_SHOWN_LINES) {
                write!(f, "\n  {what}: {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tributary_local::chaos::Chaos;

    use super::*;

    fn outcome() -> SeedOutcome {
        SeedOutcome {
            seed: 1,
            tally: AnswerTally::default(),
            injected: Chaos::new("crash=0.1".parse().unwrap_or_default(), 1).injected(),
            poisoned: 0,
            dead_letters: Vec::new(),
            explained: Some(3),
            divergences: Vec::new(),
            duration: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_row_has_the_columns_of_the_head() {
        let cells = |line: &str| line.matches('|').count();
        let columns = cells(HEADER.lines().next().unwrap_or_default());
        assert_eq!(cells(&outcome().to_string()), columns);
        let injected = outcome().injected;
        assert!(injected.iter().all(|(kind, _)| HEADER.contains(&format!("| {} |", kind.name()))));
    }

    #[test]
    fn a_seed_may_leave_only_explained_findings() {
        assert!(outcome().is_right());
        let one = || vec!["one".to_owned()];
        assert!(!SeedOutcome { divergences: one(), ..outcome() }.is_right());
        assert!(!SeedOutcome { dead_letters: one(), ..outcome() }.is_right());
        let tally = AnswerTally { wrong: one(), ..AnswerTally::default() };
        assert!(!SeedOutcome { tally, ..outcome() }.is_right());
    }
}
