//! The change of a container to another partition key: a copy of all its items, and a change-over of the app.
//!
//! The service cannot change the key of a container. Two ways lead to a container with the other key: a copy job
//! of the service, and a projection from the change feed, such as Tributary's
//! (`crates/tributary-functions/src/projection`).

use cosmos_model::charges::rates::{
    self, LOADED_ITEM_RU, LOADED_KB_RU, RETURNED_KB_RU, TERM_RU, TERMS_PER_VALUE,
};
use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use super::{ContainerDefinition, RankedCandidate};
use crate::{
    limits::{PARTITION_REQUEST_UNITS, SECONDS_OF_A_DAY},
    report::RequestEstimates,
    request::{RequestKind, RequestOperation},
    words::{about, counted},
};

/// The days within which request units alone are a reason for a change.
const MAX_PLANNED_DAYS: f64 = 3.0 * 365.0;

/// The change from one key to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyChange {
    /// The key that the container has.
    pub from: KeyStrategy,
    /// The key that it gets.
    pub to: KeyStrategy,
    /// Items of the container.
    pub items: f64,
    /// Request units to read all items.
    pub read: f64,
    /// Request units to write all items.
    pub write: f64,
    /// Request units a day that the new key saves.
    pub saves_per_day: Option<f64>,
    /// True when the service can copy the items as they are: not where the new key is computed.
    pub can_be_copied: bool,
    /// The costs, as sentences.
    pub costs: Vec<String>,
    /// The consequences for the app, as sentences.
    pub limits: Vec<String>,
    /// The steps of a copy job of the service.
    pub copy_job: Vec<String>,
    /// The steps of a projection.
    pub projection: Vec<String>,
}

impl KeyChange {
    /// Returns the change from the container's key to the best one.
    pub(super) fn new(
        current: &RankedCandidate,
        best: &RankedCandidate,
        container: &ContainerDefinition,
        requests: &[RequestKind],
        items: Option<u64>,
    ) -> Self {
        let estimates = &best.report.estimates;
        let in_sample = crate::sketch::float(estimates.items).max(1.0);
        let items = items.map_or(in_sample, crate::sketch::float);
        let bytes = crate::sketch::float(estimates.bytes) / in_sample;
        let read_one = LOADED_ITEM_RU + bytes / 1_024.0 * (LOADED_KB_RU + RETURNED_KB_RU);
        let write_one = create(estimates.requests.iter().zip(requests))
            .unwrap_or_else(|| written(bytes, container));
        let read = items * read_one;
        let write = items * write_one;
        let saves = current.request_units.zip(best.request_units);
        let has_frequency = requests.iter().any(|request| request.frequency.is_some());
        let saves_per_day = saves.map(|(now, then)| now - then).filter(|_| has_frequency);
        let mut change = Self {
            from: current.report.estimates.strategy.clone(),
            to: estimates.strategy.clone(),
            items,
            read,
            write,
            saves_per_day,
            can_be_copied: container.computed.is_empty(),
            costs: Vec::new(),
            limits: Vec::new(),
            copy_job: Vec::new(),
            projection: projection(container),
        };
        change.costs = change.costs();
        change.limits = change.limits();
        if change.can_be_copied {
            change.copy_job = copy_job(container);
        }
        change
    }

    fn costs(&self) -> Vec<String> {
        let seconds = self.write / PARTITION_REQUEST_UNITS;
        let mut costs = vec![format!(
            "{} are read once ({} RU) and written once ({} RU). At 10,000 RU/s of the new container that takes {}.",
            counted(self.items, "item"),
            about(self.read),
            about(self.write),
            duration(seconds)
        )];
        costs.push(
            "Until the change-over, each write of the app costs the write of the copy, too, and both containers \
             are paid for."
                .to_owned(),
        );
        if let Some(saves) = self.saves_per_day {
            let days = (self.read + self.write) / saves;
            costs.push(if saves > 0.0 {
                let late = if days > MAX_PLANNED_DAYS {
                    ": request units alone are no reason for it"
                } else {
                    ""
                };
                format!(
                    "The new key saves {} RU a day, so the change has paid for itself in {}{late}.",
                    about(saves),
                    duration(days * SECONDS_OF_A_DAY)
                )
            } else {
                "The new key saves no request units: it is ranked first for its smaller risks."
                    .to_owned()
            });
        }
        costs
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = vec![
            format!(
                "An id is unique within a logical partition: two items of one id under different {} meet where they \
                 have the same {}, and the second overwrites the first or is refused. Count them before.",
                self.from, self.to
            ),
            "Each item gets a new `_ts`, `_etag` and `_rid`: a time to live begins again, and ETags, sessions and \
             continuations of the old container mean nothing in the new one."
                .to_owned(),
            "The change feed of the new container delivers every item as new: functions on it need leases of their \
             own, and have to bear each item once more."
                .to_owned(),
            "Unique keys are those of the new container; indexes, time to live, backup, roles, alerts and the names \
             in `function.json` are to be set for it, too."
                .to_owned(),
        ];
        if self.to.levels().len() > 1 {
            limits.push(
                "A hierarchical key is set when a container is created; the SDK has to know all its levels for a \
                 point read."
                    .to_owned(),
            );
        }
        if !self.can_be_copied {
            limits.push(format!(
                "The service copies items as they are, and the key {} is computed: a copy job cannot write it.",
                self.to
            ));
        }
        limits
    }
}

/// Returns the request units of a create, where one is among the requests.
fn create<'a>(
    requests: impl Iterator<Item = (&'a RequestEstimates, &'a RequestKind)>,
) -> Option<f64> {
    let mut creates = requests.filter(|(_, request)| request.operation == RequestOperation::Create);
    creates.next().map(|(report, _)| report.request_units)
}

/// Returns the request units of a write of `bytes` bytes into a container.
fn written(bytes: f64, container: &ContainerDefinition) -> f64 {
    let (values, composites) = container.entry.indexes();
    let terms = f64::from(TERMS_PER_VALUE) * crate::sketch::float(values as u64)
        + crate::sketch::float(composites as u64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2 MB")]
    let write = rates::write(bytes as usize);
    write + terms * TERM_RU
}

fn copy_job(container: &ContainerDefinition) -> Vec<String> {
    let name = &container.entry.id;
    [
        &format!(
            "Create the container `{name}-2` with the definition above, and the request units that the copy is to \
             have."
        ),
        "Offline: stop all writes. Online: the account needs continuous backup and the change feed of all versions \
         and deletes; writes go on, and each costs twice as long as the job runs.",
        &format!(
            "`az cosmosdb copy create --resource-group … --job-name {name}-2 --src-account … --dest-account … \
             --src-nosql database=… container={name} --dest-nosql database=… container={name}-2 --mode Offline` (or \
             `Online`; a preview, extension cosmosdb-preview). One job runs at a time in an account."
        ),
        "`az cosmosdb copy show` until all items are copied. Online: stop writes, then `az cosmosdb copy complete`.",
        "Compare: the number of items, and the sums that the business knows.",
        "Point the app and its functions at the new container, and let writes in. Keep the old one until nothing \
         misses it.",
    ]
    .map(ToOwned::to_owned)
    .to_vec()
}

fn projection(container: &ContainerDefinition) -> Vec<String> {
    let name = &container.entry.id;
    let key = match container.computed.as_slice() {
        [] => String::new(),
        computed => {
            let paths: Vec<_> =
                computed.iter().map(|one| format!("{} from {}", one.path, one.made_of)).collect();
            format!(" It computes {}.", paths.join(" and "))
        }
    };
    [
        format!("Create the container `{name}-2` with the definition above."),
        "Let deletes leave a tombstone, an item that expires: the feed of the latest versions has no deletes."
            .to_owned(),
        format!(
            "Deploy a function on the change feed of `{name}`, from its beginning, that writes each item into \
             `{name}-2` only over an older version (`crates/tributary-functions/src/projection`).{key}"
        ),
        "Wait until its lag is that of live traffic, and compare both containers (an audit, or counts).".to_owned(),
        "Move the reads, function by function; each can go back.".to_owned(),
        "Move the writes: refuse them in the old container for as long as the lag, then write to the new one.".to_owned(),
        "Remove the function and the old container when nothing misses them.".to_owned(),
    ]
    .to_vec()
}

fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 90.0 => counted(seconds.max(1.0), "second"),
        _ if seconds < 5_400.0 => counted(seconds / 60.0, "minute"),
        _ if seconds < 172_800.0 => counted(seconds / 3_600.0, "hour"),
        _ if seconds < 730.0 * SECONDS_OF_A_DAY => counted(seconds / SECONDS_OF_A_DAY, "day"),
        _ => counted(seconds / SECONDS_OF_A_DAY / 365.0, "year"),
    }
}
