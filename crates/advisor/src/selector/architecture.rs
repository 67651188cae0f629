//! The decision on the containers: the guide's "Implementation Decision Framework".

use serde::Serialize;

use super::{DataCharacteristics, kinds::SMALL_GIGABYTES};

/// The size above which, with a high query load, the guide separates hot from warm data.
const HOT_WARM_GIGABYTES: f64 = 500.0;

/// The guide's architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerArchitecture {
    /// One container.
    Single,
    /// A hot and a warm container with a time to live.
    HotWarm,
    /// The same, with a migration every few minutes.
    HotWarmMigration,
}

/// The containers, with reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerDecision {
    /// The architecture.
    pub architecture: ContainerArchitecture,
    /// The reasons.
    pub reasons: Vec<String>,
}

impl ContainerArchitecture {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "one container",
            Self::HotWarm => "a hot and a warm container, with a time to live",
            Self::HotWarmMigration => {
                "a hot and a warm container, with a migration every few minutes"
            }
        }
    }
}

pub(super) fn decide(c: &DataCharacteristics) -> ContainerDecision {
    let size = c.volume.gigabytes;
    let is_above = |limit: f64| size.is_some_and(|size| size > limit);
    let (architecture, reason) = if is_above(HOT_WARM_GIGABYTES)
        && c.load.high_query_load == Some(true)
    {
        (
            ContainerArchitecture::HotWarm,
            "More than 500 GB and a high query load: a small hot container serves most requests (guide: \
             Implementation Decision Framework, first question).",
        )
    } else if c.access.analytics_and_real_time == Some(true) {
        (
            ContainerArchitecture::HotWarmMigration,
            "Analytics over all times beside requests in real time: they get containers of their own \
             (guide: Implementation Decision Framework, second question).",
        )
    } else if size.is_some_and(|size| size < SMALL_GIGABYTES) {
        (
            ContainerArchitecture::Single,
            "Less than 100 GB: one container is simpler and enough (guide: Implementation Decision \
             Framework, third question).",
        )
    } else if size.is_some() {
        (
            ContainerArchitecture::Single,
            "100 GB or more, but no reason to separate: begin with one container, and look again when \
             most requests ask for recent items only.",
        )
    } else {
        (
            ContainerArchitecture::Single,
            "No size is given (volume.gigabytes): nothing calls for more than one.",
        )
    };
    let mut reasons = vec![reason.to_owned()];
    if c.access.independent_periods == Some(true) {
        reasons.push(
            "Periods with a management of their own do not call for a container each, which the guide \
             does not recommend: a period in the key and a time to live do the same."
                .to_owned(),
        );
    }
    ContainerDecision { architecture, reasons }
}
