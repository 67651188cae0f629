//! The decision on the key: the guide's "Dynamic Partition Strategy Selection" and its scenarios.

use cosmos_model::partitioning::{
    KeyPart, KeyStrategy, buckets::Buckets, path::PropertyPath, period::Granularity,
    presets::MAX_MONTHLY_READINGS_PER_DAY,
};
use serde::Serialize;

use super::{
    DataCharacteristics, StrategyKind,
    kinds::{LARGE_TENANT_GIGABYTES, MANY_ITEMS},
};

/// The number of tenants below which the guide's validator finds a low cardinality.
const FEW_TENANTS: u64 = 100;

/// The guide's numbers of buckets: 10 beside a period, 100 alone.
const BUCKETS_OF_A_PERIOD: u32 = 10;
const BUCKETS_ALONE: u32 = 100;

/// The key, with reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyDecision {
    /// The kind of strategy.
    pub kind: StrategyKind,
    /// Its notation, as `--candidate` takes it.
    pub strategy: KeyStrategy,
    /// The reasons, the most important first.
    pub reasons: Vec<String>,
}

pub(super) fn decide(c: &DataCharacteristics) -> KeyDecision {
    let paths = &c.paths;
    if c.access.by_id_only == Some(true) {
        let reason = "Each request knows the id of its one item, so each is a point read of one \
                      partition (guide: Entity ID-Based, \"When to Use\").";
        return decision(StrategyKind::ItemId, vec![vec![value(&paths.id)]], [reason.to_owned()]);
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
        let key = vec![vec![bucket(paths.entity.as_ref().unwrap_or(&paths.id), BUCKETS_ALONE)]];
        return decision(
            StrategyKind::Synthetic,
            key,
            [format!(
                "Writes are heavy and uniform: {BUCKETS_ALONE} buckets spread them evenly (guide: \
                 Dynamic Partition Strategy Selection, third rule)."
            )],
        );
    }
    otherwise(c)
}

fn tenant(c: &DataCharacteristics) -> KeyDecision {
    let count = c.tenants.count.unwrap_or_default();
    let tenant = vec![value(&c.paths.tenant)];
    let is_large = c.tenants.largest_gigabytes.is_some_and(|size| size > LARGE_TENANT_GIGABYTES);
    let mut reasons = vec![format!(
        "{count} tenants share the data: their items are to be apart, and a tenant's queries stay in \
         its partition (guide: Multi-Tenant Systems)."
    )];
    if !is_large && count >= FEW_TENANTS {
        if count >= 1_000 {
            reasons.push(
                "The guide's rule ends at 1,000 tenants and gives no reason. More tenants are more \
                 partitions, which is better: the rule is not followed there."
                    .to_owned(),
            );
        }
        return decision(StrategyKind::Tenant, vec![tenant], reasons);
    }
    reasons.push(if is_large {
        format!(
            "The largest tenant has more than {LARGE_TENANT_GIGABYTES} GB (the guide's alert), and a logical \
             partition ends at 20 GB: a second level divides it."
        )
    } else {
        format!(
            "Fewer than {FEW_TENANTS} tenants are few partitions (guide: Partition Key Design \
             Checklist): a second level makes more."
        )
    });
    let second = c.paths.entity.as_ref().unwrap_or(&c.paths.id);
    decision(StrategyKind::Hierarchical, vec![tenant, vec![value(second)]], reasons)
}

fn temporal(c: &DataCharacteristics) -> KeyDecision {
    let mut reasons = vec![
        "There are more than 1,000,000 items, and requests ask for a time (guide: Dynamic Partition \
         Strategy Selection, first rule)."
            .to_owned(),
    ];
    let a_day = c.volume.items_per_entity_per_day;
    let granularity = match a_day {
        Some(items) if items > f64::from(MAX_MONTHLY_READINGS_PER_DAY) => Granularity::Day,
        _ => Granularity::Month,
    };
    let period = KeyPart::Period(c.paths.time.clone(), granularity);
    if let Some(entity) = &c.paths.entity {
        reasons.push(format!(
            "Requests name {entity}: with it in the key they visit one partition a period, and writes are \
             spread over the entities (guide: Social media, Time-Series Data)."
        ));
        if granularity == Granularity::Day {
            reasons.push(format!(
                "An entity has more than {MAX_MONTHLY_READINGS_PER_DAY} items a day: days keep \
                 partitions small (guide: Time-Series Data)."
            ));
        }
        return decision(StrategyKind::Hybrid, vec![vec![value(entity), period]], reasons);
    }
    if c.writes_heavily() == Some(true) {
        reasons.push(format!(
            "Writes are heavy and all go to the current period: {BUCKETS_OF_A_PERIOD} buckets of it \
             spread them (guide: Hot Partitions)."
        ));
        let key = vec![vec![period, bucket(&c.paths.id, BUCKETS_OF_A_PERIOD)]];
        return decision(StrategyKind::TimeAndHash, key, reasons);
    }
    reasons.push("Nothing says that requests name an entity, and writes are not heavy.".to_owned());
    decision(StrategyKind::Time, vec![vec![period]], reasons)
}

fn otherwise(c: &DataCharacteristics) -> KeyDecision {
    let why = "None of the guide's rules holds: neither more than 1,000,000 items asked for by time, nor \
               tenants, nor heavy uniform writes.";
    let Some(entity) = &c.paths.entity else {
        let reasons = [
            why.to_owned(),
            "No entity is named under [paths] either: only the id is certain to be there. Name what most \
             requests ask for, and ask again."
                .to_owned(),
        ];
        return decision(StrategyKind::ItemId, vec![vec![value(&c.paths.id)]], reasons);
    };
    let reasons = [
        why.to_owned(),
        format!(
            "Requests name {entity}: its items are together, for queries and for transactions."
        ),
    ];
    decision(StrategyKind::EntityId, vec![vec![value(entity)]], reasons)
}

fn decision(
    kind: StrategyKind,
    levels: Vec<Vec<KeyPart>>,
    reasons: impl Into<Vec<String>>,
) -> KeyDecision {
    let strategy = KeyStrategy::new(levels);
    // One or two levels with one or two parts each: always a strategy.
    let strategy = strategy.unwrap_or_else(|_| cosmos_model::partitioning::presets::multi_tenant());
    KeyDecision { kind, strategy, reasons: reasons.into() }
}

fn value(path: &PropertyPath) -> KeyPart {
    KeyPart::Value(path.clone())
}

fn bucket(path: &PropertyPath, n: u32) -> KeyPart {
    Buckets::new(n).map_or_else(|| value(path), |buckets| KeyPart::Bucket(path.clone(), buckets))
}
