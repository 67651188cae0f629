//! A strategy without data: the guide's decision framework, applied to characteristics of the data.
//!
//! Two decisions of the guide are taken, each by its own rules: which key ("Dynamic Partition Strategy Selection", with
//! the scenarios where they are more precise) and which containers ("Implementation Decision Framework").

use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use crate::output::{Block, Section};

mod characteristics;

pub(crate) use characteristics::DataCharacteristics;

const SMALL_GIGABYTES: f64 = 100.0;

const HOT_WARM_GIGABYTES: f64 = 500.0;

/// The guide's alert: a logical partition ends at 20 GB.
const LARGE_TENANT_GIGABYTES: f64 = 15.0;

const MANY_ITEMS: u64 = 1_000_000;

/// The most readings a day of a device with a partition a month ("Time-Series Data"). Above, it gets one a day.
const MAX_MONTHLY_READINGS_PER_DAY: f64 = 1_000.0;

const FEW_TENANTS: u64 = 100;

const UNKNOWN: [&str; 3] = [
    "how evenly the values are spread: one customer may have half of all items",
    "which requests do not name the key, and what they cost",
    "items without the property, or in which it changes",
];

#[derive(Debug, Serialize)]
pub(crate) struct StrategySelection {
    pub(crate) key: KeyDecision,
    pub(crate) containers: ContainerDecision,
    pub(crate) unknown: [&'static str; 3],
}

#[derive(Debug, Serialize)]
pub(crate) struct KeyDecision {
    pub(crate) kind: &'static str,
    pub(crate) strategy: KeyStrategy,
    pub(crate) reasons: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ContainerDecision {
    pub(crate) architecture: &'static str,
    pub(crate) reasons: Vec<&'static str>,
}

pub(crate) fn select(characteristics: &DataCharacteristics) -> anyhow::Result<StrategySelection> {
    let (kind, key, reasons) = key(characteristics);
    let key = KeyDecision { kind, strategy: key.parse()?, reasons };
    Ok(StrategySelection { key, containers: containers(characteristics), unknown: UNKNOWN })
}

impl StrategySelection {
    pub(crate) fn sections(&self) -> Vec<Section> {
        let KeyDecision { kind, strategy, reasons } = &self.key;
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let answer = [
            format!("Key: {strategy} ({kind})"),
            format!("Containers: {}", self.containers.architecture),
        ];
        let next = format!(
            "With a sample of items, `tributary-partition advise --items items.jsonl --candidate '{strategy}'` \
             measures it."
        );
        [
            ("Answer", answer.to_vec()),
            ("Why this key", reasons.clone()),
            ("Why these containers", owned(&self.containers.reasons)),
            ("What only data can tell", owned(&self.unknown)),
            ("Next", vec![next]),
        ]
        .map(|(title, lines)| Section::new(title, vec![Block::Sentences(lines)]))
        .into()
    }
}

type Decision = (&'static str, String, Vec<String>);

fn key(c: &DataCharacteristics) -> Decision {
    let paths = &c.paths;
    let of_entity_or_id = paths.entity.as_ref().unwrap_or(&paths.id);
    if c.access.by_id_only == Some(true) {
        let reason = "Each request knows the id of its one item, so each is a point read of one partition (guide: \
                      Entity ID-Based, \"When to Use\").";
        return ("the item's id", paths.id.to_string(), vec![reason.to_owned()]);
    }
    // The guide's switch asks for the time first. The tenant comes first here: isolation is a demand, and a
    // period with all tenants cannot give it.
    if let Some(count) = c.tenants.count.filter(|count| *count > 0) {
        return tenant(c, count);
    }
    if c.volume.items.is_some_and(|items| items > MANY_ITEMS) && c.access.temporal == Some(true) {
        return temporal(c);
    }
    if c.writes_heavily() && c.access.uniform == Some(true) {
        let reason = "Writes are heavy and uniform: 100 buckets spread them evenly (guide: Dynamic Partition Strategy \
                      Selection, third rule).";
        let key = format!("{of_entity_or_id} in 100 buckets");
        return ("synthetic: hash buckets", key, vec![reason.to_owned()]);
    }
    let why = "None of the guide's rules holds: neither more than 1,000,000 items asked for by time, nor tenants, nor \
               heavy uniform writes.";
    let (kind, reason) = match &paths.entity {
        Some(entity) => (
            "entity id",
            format!("Requests name {entity}: its items are together, for queries and for transactions."),
        ),
        None => (
            "the item's id",
            "No entity is named under [paths] either: only the id is certain to be there. Name what most requests ask \
             for, and ask again."
                .to_owned(),
        ),
    };
    (kind, of_entity_or_id.to_string(), vec![why.to_owned(), reason])
}

fn tenant(c: &DataCharacteristics, count: u64) -> Decision {
    let tenant = &c.paths.tenant;
    let shared = format!(
        "{count} tenants share the data: their items are to be apart, and a tenant's queries stay in its partition \
         (guide: Multi-Tenant Systems)."
    );
    let is_large = c.tenants.largest_gigabytes.is_some_and(|size| size > LARGE_TENANT_GIGABYTES);
    let second_level = if is_large {
        format!(
            "The largest tenant has more than {LARGE_TENANT_GIGABYTES} GB (the guide's alert), and a logical \
             partition ends at 20 GB: a second level divides it."
        )
    } else if count < FEW_TENANTS {
        format!(
            "Fewer than {FEW_TENANTS} tenants are few partitions (guide: Partition Key Design Checklist): a second \
             level makes more."
        )
    } else {
        return ("category: the tenant", tenant.to_string(), vec![shared]);
    };
    let second = c.paths.entity.as_ref().unwrap_or(&c.paths.id);
    ("hierarchical", format!("{tenant},{second}"), vec![shared, second_level])
}

fn temporal(c: &DataCharacteristics) -> Decision {
    let first = "There are more than 1,000,000 items, and requests ask for a time (guide: Dynamic Partition Strategy \
                 Selection, first rule).";
    let many_a_day = |items| items > MAX_MONTHLY_READINGS_PER_DAY;
    let is_fast = c.volume.items_per_entity_per_day.is_some_and(many_a_day);
    let period = format!("{} by {}", c.paths.time, if is_fast { "day" } else { "month" });
    let mut reasons = vec![first.to_owned()];
    if let Some(entity) = &c.paths.entity {
        reasons.push(format!(
            "Requests name {entity}: with it in the key they visit one partition a period, and writes are spread over \
             the entities (guide: Social media, Time-Series Data)."
        ));
        reasons.extend(is_fast.then(|| {
            format!(
                "An entity has more than {MAX_MONTHLY_READINGS_PER_DAY} items a day: days keep partitions small \
                 (guide: Time-Series Data)."
            )
        }));
        return ("hybrid: entity and time", format!("{entity}+{period}"), reasons);
    }
    let (kind, key, reason) = if c.writes_heavily() {
        (
            "synthetic: time and hash",
            format!("{period}+{} in 10 buckets", c.paths.id),
            "Writes are heavy and all go to the current period: 10 buckets of it spread them (guide: Hot Partitions).",
        )
    } else {
        ("time", period, "Nothing says that requests name an entity, and writes are not heavy.")
    };
    reasons.push(reason.to_owned());
    (kind, key, reasons)
}

fn containers(c: &DataCharacteristics) -> ContainerDecision {
    let size = c.volume.gigabytes;
    let is_huge = size.is_some_and(|size| size > HOT_WARM_GIGABYTES);
    let (architecture, reason) = if is_huge && c.load.high_query_load == Some(true) {
        (
            "a hot and a warm container, with a time to live",
            "More than 500 GB and a high query load: a small hot container serves most requests (guide: Implementation \
             Decision Framework, first question).",
        )
    } else if c.access.analytics_and_real_time == Some(true) {
        (
            "a hot and a warm container, with a migration every few minutes",
            "Analytics over all times beside requests in real time: they get containers of their own (guide: \
             Implementation Decision Framework, second question).",
        )
    } else {
        let reason = match size {
            Some(size) if size < SMALL_GIGABYTES => {
                "Less than 100 GB: one container is simpler and enough (guide: Implementation Decision Framework, \
                 third question)."
            }
            Some(_) => {
                "100 GB or more, but no reason to separate: begin with one container, and look again when most \
                 requests ask for recent items only."
            }
            None => "No size is given (volume.gigabytes): nothing calls for more than one.",
        };
        ("one container", reason)
    };
    ContainerDecision { architecture, reasons: vec![reason] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(file: &str) -> StrategySelection {
        select(&DataCharacteristics::read(file).unwrap()).unwrap()
    }

    /// The arms of the guide's switch, in its order, and the scenarios that are more precise than it.
    #[test]
    fn each_rule_and_scenario_of_the_guide_gives_its_strategy() {
        let temporal =
            |more: &str| format!("[access]\ntemporal = true\n[volume]\nitems = 2_000_000\n{more}");
        let fast = "items-per-entity-per-day = 1_001\n[paths]\nentity = '/deviceId'\ntime = '/at'";
        let tenants = |more: &str| format!("[tenants]\ncount = {more}");
        for (file, expected) in [
            (temporal(""), "/createdAt by month"),
            (tenants("400"), "/tenantId"),
            (
                "[load]\nhigh-write-volume = true\n[access]\nuniform = true".into(),
                "/id in 100 buckets",
            ),
            ("[volume]\nitems = 10\n[paths]\nentity = '/customerId'".into(), "/customerId"),
            ("[volume]\nitems = 10".into(), "/id"),
            (temporal(fast), "/deviceId+/at by day"),
            (temporal("[load]\nwrites-per-second = 900"), "/createdAt by month+/id in 10 buckets"),
            (
                tenants("400\nlargest-gigabytes = 16\n[paths]\nentity = '/userId'"),
                "/tenantId,/userId",
            ),
            (tenants("99"), "/tenantId,/id"),
            ("[access]\nby-id-only = true".into(), "/id"),
        ] {
            assert_eq!(selection(&file).key.strategy.to_string(), expected, "{file}");
        }
        for (file, expected) in [
            ("[volume]\ngigabytes = 501\n[load]\nhigh-query-load = true", "time to live"),
            ("[access]\nanalytics-and-real-time = true", "migration"),
            ("[volume]\ngigabytes = 99", "one container"),
            ("[volume]\ngigabytes = 501", "one container"),
        ] {
            assert!(selection(file).containers.architecture.contains(expected), "{file}");
        }
    }

    #[test]
    fn a_wrong_file_is_refused_with_a_remedy() {
        for (file, expected) in [
            ("[paths]\nentity = 'userId'", "begin with /"),
            ("", "says nothing"),
            ("[paths]\nid = '/key'", "says nothing"),
            ("[volume]\ngigabytes = -1.0", "volume.gigabytes is -1: it must be a number from 0 on"),
            ("[volume]\ngigabytes = nan", "from 0 on"),
        ] {
            let error = DataCharacteristics::read(file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
