//! The costs of a change of the container to another partition key: a copy of all its items into a container
//! with the other key. `docs/partitioning.md` has the ways to make it.

use cosmos_model::charges::rates::{
    self, LOADED_ITEM_RU, LOADED_KB_RU, RETURNED_KB_RU, TERM_RU, TERMS_PER_VALUE,
};
use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use super::{ContainerDefinition, RankedCandidate};
use crate::{
    checks::{PARTITION_REQUEST_UNITS, SECONDS_OF_A_DAY},
    request::RequestOperation,
    words::{about, counted, float, size},
};

const MAX_PLANNED_DAYS: f64 = 3.0 * 365.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyChange {
    pub(crate) from: KeyStrategy,
    pub(crate) to: KeyStrategy,
    pub(crate) items: f64,
    pub(crate) read: f64,
    pub(crate) write: f64,
    pub(crate) saves_per_day: Option<f64>,
    /// True when the service can copy the items as they are: not where the new key is computed.
    pub(crate) can_be_copied: bool,
}

impl KeyChange {
    pub(super) fn new(
        current: &RankedCandidate,
        best: &RankedCandidate,
        container: &ContainerDefinition,
        items: Option<u64>,
    ) -> Self {
        let report = &best.report;
        let in_sample = float(report.items).max(1.0);
        let items = items.map_or(in_sample, float);
        let bytes = float(report.bytes) / in_sample;
        let read_one = LOADED_ITEM_RU + bytes / 1_024.0 * (LOADED_KB_RU + RETURNED_KB_RU);
        let mut requests = report.requests.iter();
        let create = requests.find(|request| request.operation == RequestOperation::Create);
        let write_one =
            create.map_or_else(|| written(bytes, container), |create| create.request_units);
        let saves = current.request_units.zip(best.request_units);
        let saves = saves.filter(|_| report.has_frequency());
        Self {
            from: current.strategy().clone(),
            to: report.strategy.clone(),
            items,
            read: items * read_one,
            write: items * write_one,
            saves_per_day: saves.map(|(now, then)| now - then),
            can_be_copied: container.computed.is_empty(),
        }
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![format!(
            "{} are read once ({} RU) and written once ({} RU). At 10,000 RU/s of the new container that takes {}. \
             Until the change-over, each write of the app costs the write of the copy, too.",
            counted(self.items, "item"),
            about(self.read),
            about(self.write),
            duration(self.write / PARTITION_REQUEST_UNITS)
        )];
        if let Some(saves) = self.saves_per_day.filter(|saves| *saves > 0.0) {
            let days = (self.read + self.write) / saves;
            let late = ": request units alone are no reason for it";
            sentences.push(format!(
                "The new key saves {} RU a day, so the change has paid for itself in {}{}.",
                about(saves),
                duration(days * SECONDS_OF_A_DAY),
                if days > MAX_PLANNED_DAYS { late } else { "" }
            ));
        } else if self.saves_per_day.is_some() {
            let no =
                "The new key saves no request units: it is ranked first for its smaller risks.";
            sentences.push(no.to_owned());
        }
        sentences.push(if self.can_be_copied {
            "A copy job of the service can copy the items (az cosmosdb copy create), or a projection from the change \
             feed. Two items of one id may meet under the new key: count them before."
                .to_owned()
        } else {
            format!(
                "The key {} is computed: a copy job of the service cannot write it, a projection from the change \
                 feed can.",
                self.to
            )
        });
        sentences
    }
}

fn written(bytes: f64, container: &ContainerDefinition) -> f64 {
    let (values, composites) = container.n_indexes();
    let terms = f64::from(TERMS_PER_VALUE) * float(values as u64) + float(composites as u64);
    rates::write(size(bytes)) + terms * TERM_RU
}

fn duration(seconds: f64) -> String {
    let (unit, name) = match seconds {
        ..90.0 => (1.0, "second"),
        ..5_400.0 => (60.0, "minute"),
        ..172_800.0 => (3_600.0, "hour"),
        _ if seconds < 730.0 * SECONDS_OF_A_DAY => (SECONDS_OF_A_DAY, "day"),
        _ => (365.0 * SECONDS_OF_A_DAY, "year"),
    };
    counted((seconds / unit).max(1.0), name)
}
