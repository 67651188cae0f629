//! What came of a seed, as a row of the table in `docs/chaos.md`.

use std::{fmt, time::Duration};

use tributary_local::chaos::Kind;
use tributary_simulator::Tally;

/// The head of the table.
pub(crate) const HEADER: &str = "\
| seed | acknowledged | wrong | 429 | 503 | killed | duplicates | reorder | overlap | crash | throttle | lost-answer | split | stale | repeat | poisoned | dead letters | explained findings | divergences | s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// How many lines of each list are shown.
const SHOWN: usize = 20;

/// What came of a seed.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) tally: Tally,
    pub(crate) injected: Vec<(Kind, u64)>,
    /// How many items were poisoned.
    pub(crate) poisoned: usize,
    /// Those of other items.
    pub(crate) dead_letters: Vec<String>,
    /// Findings of the audit that chaos explains, which the repair mended; `None` when nobody
    /// looked.
    pub(crate) explained: Option<usize>,
    pub(crate) divergences: Vec<String>,
    pub(crate) duration: Duration,
}

impl Outcome {
    pub(crate) fn is_right(&self) -> bool {
        self.tally.wrong.is_empty() && self.divergences.is_empty() && self.dead_letters.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { acknowledged, throttled, unavailable, killed, wrong } = &self.tally;
        let (seed, n_wrong) = (self.seed, wrong.len());
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
            for line in list.iter().take(SHOWN) {
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

    fn outcome() -> Outcome {
        Outcome {
            seed: 1,
            tally: Tally::default(),
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
    fn what_is_explained_is_all_that_a_seed_may_leave() {
        assert!(outcome().is_right());
        let one = || vec!["one".to_owned()];
        assert!(!Outcome { divergences: one(), ..outcome() }.is_right());
        assert!(!Outcome { dead_letters: one(), ..outcome() }.is_right());
        let tally = Tally { wrong: one(), ..Tally::default() };
        assert!(!Outcome { tally, ..outcome() }.is_right());
    }
}
