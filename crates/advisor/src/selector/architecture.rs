//! The decision on the containers: the guide's "Implementation Decision Framework".

use serde::Serialize;

use super::{DataCharacteristics, kinds::SMALL_GIGABYTES};

/// The size above which, with a high query load, the guide separates hot from warm data.
const HOT_WARM_GIGABYTES: f64 = 500.0;

/// The guide's architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContainerArchitecture {
    Single,
    HotWarm,
    HotWarmMigration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ContainerDecision {
    pub(crate) architecture: ContainerArchitecture,
    pub(crate) reasons: Vec<String>,
}

impl ContainerArchitecture {
    pub(crate) fn name(self) -> &'static str {
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
    use ContainerArchitecture::{HotWarm, HotWarmMigration, Single};
    let size = c.volume.gigabytes;
    let is_huge = size.is_some_and(|size| size > HOT_WARM_GIGABYTES);
    let (architecture, reason) = if is_huge && c.load.high_query_load == Some(true) {
        (
            HotWarm,
            "More than 500 GB and a high query load: a small hot container serves most requests (guide: \
             Implementation Decision Framework, first question).",
        )
    } else if c.access.analytics_and_real_time == Some(true) {
        (
            HotWarmMigration,
            "Analytics over all times beside requests in real time: they get containers of their own \
             (guide: Implementation Decision Framework, second question).",
        )
    } else {
        let reason = match size {
            Some(size) if size < SMALL_GIGABYTES => {
                "Less than 100 GB: one container is simpler and enough (guide: Implementation Decision \
                 Framework, third question)."
            }
            Some(_) => {
                "100 GB or more, but no reason to separate: begin with one container, and look again when \
                 most requests ask for recent items only."
            }
            None => "No size is given (volume.gigabytes): nothing calls for more than one.",
        };
        (Single, reason)
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
