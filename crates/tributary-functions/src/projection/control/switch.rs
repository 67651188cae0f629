//! The switch of readers between a projection and its successor, as it is stored: pure functions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Timestamp;

/// The copies of one shape: those that a projection makes, or those of its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Generation {
    /// The copies that the projection makes.
    Old,
    /// The copies that its successor makes.
    New,
}

impl Generation {
    fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }
}

/// The last switch of the readers of a projection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// The successor's function.
    pub successor: String,
    /// The generation that readers get from the time `from` on.
    pub serves: Generation,
    /// The time from which the switch holds. Before it readers get the other generation.
    pub from: Timestamp,
    /// The user of the command; none of a request, whose function key has no name here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The end of the old generation; none until an operator has confirmed the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retirement: Option<Retirement>,
}

/// The end of a generation: its projection applies nothing any more, and its copies are removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retirement {
    /// The time at which an operator has confirmed the switch.
    pub confirmed_at: Timestamp,
    /// The user of the command; none of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time at which the removal may begin.
    pub removes_from: Timestamp,
    /// The removal so far.
    #[serde(default)]
    pub progress: RemovalProgress,
    /// The time at which no copy was left; none while the removal goes on, and where the copies stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// The removal of the copies of a retired projection so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "RemovalProgress")]
pub struct RemovalProgress {
    /// The items that were deleted. One whose answer was lost may be missing.
    pub removed: u64,
    /// The items that cannot be deleted, since their partition key is no text.
    pub left: u64,
    /// The request units of all.
    pub request_units: f64,
}

impl Switch {
    /// Returns the generation that readers get at a time.
    ///
    /// A switch is accepted only after the one before holds. So the generation before it is the other one.
    pub fn serving_at(&self, now: Timestamp) -> Generation {
        // A clock that is wrong must not lead a reader to copies that are removed.
        let holds = self.retirement.is_some() || now >= self.from;
        if holds { self.serves } else { self.serves.other() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_holds_from_its_time_on_and_a_confirmed_one_always() {
        let at = |seconds| Timestamp::from_unix_seconds(seconds).unwrap();
        let to = |serves| Switch {
            successor: "CopiesV2".into(),
            serves,
            from: at(10),
            by: None,
            retirement: None,
        };
        let forth = to(Generation::New);
        assert_eq!(
            [9, 10].map(|now| forth.serving_at(at(now))),
            [Generation::Old, Generation::New]
        );
        let back = to(Generation::Old);
        assert_eq!([9, 10].map(|now| back.serving_at(at(now))), [Generation::New, Generation::Old]);
        let retirement = Retirement {
            confirmed_at: at(20),
            by: None,
            removes_from: at(30),
            progress: RemovalProgress::default(),
            ended_at: None,
        };
        let confirmed = Switch { retirement: Some(retirement), ..forth };
        assert_eq!(confirmed.serving_at(at(0)), Generation::New, "by a clock that is behind");
    }
}
