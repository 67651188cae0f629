//! The guide's kinds of strategies, and their costs.

use serde::Serialize;

/// A kind of strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyKind {
    /// The id of the item: a partition each.
    ItemId,
    /// The id of the entity of the items.
    EntityId,
    /// A period of time.
    Time,
    /// An entity and a period, joined.
    Hybrid,
    /// A period and a bucket, joined.
    TimeAndHash,
    /// The tenant.
    Tenant,
    /// The tenant, and within it another level.
    Hierarchical,
    /// A bucket of a hash.
    Synthetic,
}

/// The size below which the guide calls data small ("Simple Requirements AND Small Scale").
pub(super) const SMALL_GIGABYTES: f64 = 100.0;

/// The size above which a tenant gets a second level: the guide warns at 15 GB ("Performance Alerting"), since a
/// logical partition ends at 20 GB.
pub(super) const LARGE_TENANT_GIGABYTES: f64 = 15.0;

/// The number of items above which the guide calls data voluminous (`DataVolume: > 1_000_000`).
pub(super) const MANY_ITEMS: u64 = 1_000_000;

impl StrategyKind {
    /// Returns the guide's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ItemId => "the item's id",
            Self::EntityId => "entity id",
            Self::Time => "time",
            Self::Hybrid => "hybrid: entity and time",
            Self::TimeAndHash => "synthetic: time and hash",
            Self::Tenant => "category: the tenant",
            Self::Hierarchical => "hierarchical",
            Self::Synthetic => "synthetic: hash buckets",
        }
    }

    pub(super) fn trade_offs(self) -> Vec<&'static str> {
        match self {
            Self::ItemId => vec![
                "every query that is not a point read is a fan-out (the guide's hyperfragmentation)",
                "no transaction spans two items",
            ],
            Self::EntityId => vec![
                "a query over several entities visits a partition each, or all",
                "an entity that grows for ever meets 20 GB: add a level or a period then",
            ],
            Self::Time => vec![
                "all writes of now go to one partition, which takes 10,000 RU/s at most",
                "a query without a time is a fan-out",
            ],
            Self::Hybrid => vec![
                "a query over several periods visits a partition each; over several entities, all",
                "the key is computed: the app stores it in a property of its own and never in two ways",
            ],
            Self::TimeAndHash => vec![
                "each query visits all buckets of each of its periods",
                "more buckets later move almost every value: begin with enough",
            ],
            Self::Tenant => vec![
                "one large tenant meets 20 GB and 10,000 RU/s: it then needs a second level",
                "reports over all tenants are fan-outs",
            ],
            Self::Hierarchical => vec![
                "a query of a tenant visits the few physical partitions that hold it, not one logical partition",
                "a transaction holds only items whose levels are all equal",
            ],
            Self::Synthetic => vec![
                "no query can name its partition unless it knows the hashed value",
                "more buckets later move almost every value: begin with enough",
            ],
        }
    }
}
