//! The specification of `--chaos`.

use std::str::FromStr;

use super::{ChaosKind, KINDS};

/// The probability of each kind of chaos; zero by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChaosSpec {
    /// The probabilities, by kind; that of [`ChaosKind::Split`] is not used.
    probabilities: [f64; KINDS.len()],
    splits: u32,
}

/// A fault in the text of a [`ChaosSpec`], as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(String);

/// The number of partitions that are split at most: each split makes all later queries slower.
const MAX_SPLITS: u32 = 100;

impl ChaosSpec {
    /// Returns the probability of a kind each time that it could happen.
    pub fn probability(&self, kind: ChaosKind) -> f64 {
        self.probabilities[kind as usize]
    }

    /// Returns the number of physical partitions to split in all.
    pub fn splits(&self) -> u32 {
        self.splits
    }
}

impl FromStr for ChaosSpec {
    type Err = SpecError;

    /// Reads `duplicates=0.2,reorder=0.2,split=1`.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        let mut seen = Vec::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                SpecError(format!("{part:?} must be a kind and a number, such as throttle=0.05"))
            })?;
            let name = name.trim();
            let value = value.trim();
            let kind = KINDS.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
                let names = KINDS.map(ChaosKind::name).join(", ");
                SpecError(format!("there is no kind {name:?} of chaos, only {names}"))
            })?;
            if seen.contains(&kind) {
                return Err(SpecError(format!("{name} is given twice")));
            }
            seen.push(kind);
            if kind == ChaosKind::Split {
                spec.splits = splits(value)?;
            } else {
                spec.probabilities[kind as usize] = probability(name, value)?;
            }
        }
        Ok(spec)
    }
}

fn probability(name: &str, value: &str) -> Result<f64, SpecError> {
    value.parse().ok().filter(|number| (0.0..=1.0).contains(number)).ok_or_else(|| {
        SpecError(format!("{name} must be a probability from 0 to 1, not {value:?}"))
    })
}

fn splits(value: &str) -> Result<u32, SpecError> {
    value.parse().ok().filter(|number| *number <= MAX_SPLITS).ok_or_else(|| {
        SpecError(format!(
            "split must be a number of partitions to split in all, 0 to {MAX_SPLITS}, not {value:?}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_given() {
        let text = "duplicates=0.2, reorder=1,crash=0.01,throttle=0,lost-answer=0.02,repeat=0.4,split=3,\
             overlap=.1,stale=0.3";
        let spec: ChaosSpec = text.parse().unwrap();
        assert_eq!(spec.splits(), 3);
        for (kind, probability) in [
            (ChaosKind::Duplicates, 0.2),
            (ChaosKind::Reorder, 1.0),
            (ChaosKind::Overlap, 0.1),
            (ChaosKind::Crash, 0.01),
            (ChaosKind::Throttle, 0.0),
            (ChaosKind::LostAnswer, 0.02),
            (ChaosKind::Stale, 0.3),
            (ChaosKind::Repeat, 0.4),
        ] {
            assert!((spec.probability(kind) - probability).abs() < 1e-9, "{kind:?}");
        }
    }

    #[test]
    fn an_error_is_one_sentence_that_names_the_fault() {
        for (text, named) in [
            ("", "such as throttle=0.05"),
            ("crash", "such as throttle=0.05"),
            ("crash=0.1,", "such as throttle=0.05"),
            ("meteor=0.1", "no kind \"meteor\" of chaos, only duplicates, reorder"),
            ("crash=1.1", "crash must be a probability from 0 to 1, not \"1.1\""),
            ("crash=-0.1", "crash must be"),
            ("crash=NaN", "crash must be"),
            ("crash=", "crash must be"),
            ("split=0.5", "split must be a number of partitions"),
            ("split=101", "0 to 100"),
            ("crash=0.1,crash=0.2", "crash is given twice"),
        ] {
            let error = text.parse::<ChaosSpec>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}
