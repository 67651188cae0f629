//! The decisions on the key, by the guide's "Dynamic Partition Strategy Selection" and its scenarios, and on the
//! containers, by its "Implementation Decision Framework".

use cosmos_model::partitioning::{KeyPart, KeyStrategy, path::PropertyPath};
use serde::Serialize;

use super::{
    DataCharacteristics, StrategyKind,
    kinds::{LARGE_TENANT_GIGABYTES, MANY_ITEMS, SMALL_GIGABYTES},
};

/// The most readings a day of a device with a partition a month ("Time-Series Data"). Above, it gets one a day.
const MAX_MONTHLY_READINGS_PER_DAY: u32 = 1000;

/// The number of tenants below which the guide's validator finds a low cardinality.
const FEW_TENANTS: u64 = 100;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct KeyDecision {
    pub(crate) kind: StrategyKind,
    pub(crate) strategy: KeyStrategy,
    pub(crate) reasons: Vec<String>,
}

impl KeyDecision {
    fn new<const N: usize>(kind: StrategyKind, key: &str, reasons: [&str; N]) -> Self {
        // One or two levels with one or two parts each: always a strategy.
        let tenant = || KeyPart::Value(PropertyPath::from_name("tenantId"));
        let strategy = key.parse().unwrap_or_else(|_| KeyStrategy::of_part(tenant()));
        Self { kind, strategy, reasons: reasons.map(str::to_owned).into() }
    }
}

pub(super) fn key(c: &DataCharacteristics) -> KeyDecision {
    let paths = &c.paths;
    let of_entity_or_id = paths.entity.as_ref().unwrap_or(&paths.id);
    if c.access.by_id_only == Some(true) {
        let reason = "Each request knows the id of its one item, so each is a point read of one \
                      partition (guide: Entity ID-Based, \"When to Use\").";
        return KeyDecision::new(StrategyKind::ItemId, &paths.id.to_string(), [reason]);
    }
    // The guide's switch asks for the time first. The tenant comes first here: isolation is a demand, and a
    // period with all tenants cannot give it.
    if c.is_shared() {
        return tenant(c);
    }
    if c.volume.items.is_some_and(|items| items > MANY_ITEMS) && c.access.temporal == Some(true) {
        return temporal(c);
    }
    if c.writes_heavily() == Some(true) && c.access.uniform == Some(true) {
        let reason = "Writes are heavy and uniform: 100 buckets spread them evenly (guide: Dynamic \
                      Partition Strategy Selection, third rule).";
        let key = format!("{of_entity_or_id} in 100 buckets");
        return KeyDecision::new(StrategyKind::Synthetic, &key, [reason]);
    }
    let why = "None of the guide's rules holds: neither more than 1,000,000 items asked for by time, nor \
               tenants, nor heavy uniform writes.";
    let (kind, reason) = match &paths.entity {
        Some(entity) => (
            StrategyKind::EntityId,
            &*format!(
                "Requests name {entity}: its items are together, for queries and for transactions."
            ),
        ),
        None => (
            StrategyKind::ItemId,
            "No entity is named under [paths] either: only the id is certain to be there. Name what most \
             requests ask for, and ask again.",
        ),
    };
    KeyDecision::new(kind, &of_entity_or_id.to_string(), [why, reason])
}

fn tenant(c: &DataCharacteristics) -> KeyDecision {
    let count = c.tenants.count.unwrap_or_default();
    let tenant = &c.paths.tenant;
    let shared = format!(
        "{count} tenants share the data: their items are to be apart, and a tenant's queries stay in \
         its partition (guide: Multi-Tenant Systems)."
    );
    let second_level = if c.tenants.largest_gigabytes.is_some_and(|n| n > LARGE_TENANT_GIGABYTES) {
        format!(
            "The largest tenant has more than {LARGE_TENANT_GIGABYTES} GB (the guide's alert), and a logical \
             partition ends at 20 GB: a second level divides it."
        )
    } else if count < FEW_TENANTS {
        format!(
            "Fewer than {FEW_TENANTS} tenants are few partitions (guide: Partition Key Design \
             Checklist): a second level makes more."
        )
    } else {
        let mut decision = KeyDecision::new(StrategyKind::Tenant, &tenant.to_string(), [&*shared]);
        if count >= 1_000 {
            decision.reasons.push(
                "The guide's rule ends at 1,000 tenants and gives no reason. More tenants are more \
                 partitions, which is better: the rule is not followed there."
                    .to_owned(),
            );
        }
        return decision;
    };
    let second = c.paths.entity.as_ref().unwrap_or(&c.paths.id);
    let key = format!("{tenant},{second}");
    KeyDecision::new(StrategyKind::Hierarchical, &key, [&*shared, &second_level])
}

fn temporal(c: &DataCharacteristics) -> KeyDecision {
    let first = "There are more than 1,000,000 items, and requests ask for a time (guide: Dynamic Partition \
                 Strategy Selection, first rule).";
    let many_a_day = f64::from(MAX_MONTHLY_READINGS_PER_DAY);
    let is_fast = c.volume.items_per_entity_per_day.is_some_and(|items| items > many_a_day);
    let period = format!("{} by {}", c.paths.time, if is_fast { "day" } else { "month" });
    if let Some(entity) = &c.paths.entity {
        let named = format!(
            "Requests name {entity}: with it in the key they visit one partition a period, and writes are \
             spread over the entities (guide: Social media, Time-Series Data)."
        );
        let key = format!("{entity}+{period}");
        let mut decision = KeyDecision::new(StrategyKind::Hybrid, &key, [first, &named]);
        decision.reasons.extend(is_fast.then(|| {
            format!(
                "An entity has more than {MAX_MONTHLY_READINGS_PER_DAY} items a day: days keep \
                 partitions small (guide: Time-Series Data)."
            )
        }));
        return decision;
    }
    if c.writes_heavily() == Some(true) {
        let reason = "Writes are heavy and all go to the current period: 10 buckets of it spread them (guide: \
                      Hot Partitions).";
        let key = format!("{period}+{} in 10 buckets", c.paths.id);
        return KeyDecision::new(StrategyKind::TimeAndHash, &key, [first, reason]);
    }
    let reason = "Nothing says that requests name an entity, and writes are not heavy.";
    KeyDecision::new(StrategyKind::Time, &period, [first, reason])
}

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

pub(super) fn containers(c: &DataCharacteristics) -> ContainerDecision {
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
