//! The guide's kinds of strategies: its reasons for and against each, and the costs.

use serde::Serialize;

use super::DataCharacteristics;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StrategyKind {
    ItemId,
    EntityId,
    Time,
    Hybrid,
    TimeAndHash,
    Tenant,
    Hierarchical,
    Synthetic,
}

/// The size below which the guide calls data small ("Simple Requirements AND Small Scale").
pub(super) const SMALL_GIGABYTES: f64 = 100.0;

/// The size above which a tenant gets a second level: the guide warns at 15 GB ("Performance Alerting"), since a
/// logical partition ends at 20 GB.
pub(super) const LARGE_TENANT_GIGABYTES: f64 = 15.0;

/// The number of items above which the guide calls data voluminous (`DataVolume: > 1_000_000`).
pub(super) const MANY_ITEMS: u64 = 1_000_000;

/// A statement of the guide, with the verdict of the characteristics on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GuideStatement {
    pub(crate) says: &'static str,
    /// True where it holds. `None` where the characteristics do not tell.
    pub(crate) here: Option<bool>,
}

pub(super) type StatementRule = (&'static str, fn(&DataCharacteristics) -> Option<bool>);

const POINT_READS: StatementRule =
    ("each request knows the id of its item", |c| c.access.by_id_only);
const UNIFORM_ACCESS: StatementRule =
    ("each entity is asked for as often as any other", |c| c.access.uniform);
const HEAVY_WRITES: StatementRule =
    ("writes are heavy, and few queries span items", DataCharacteristics::writes_heavily);
const RECENT_FIRST: StatementRule =
    ("requests ask for recent items or for a time", |c| c.access.temporal);
const ARCHIVED_PERIODS: StatementRule =
    ("old periods are archived or deleted as a whole", |c| c.access.independent_periods);
const ALL_TIMES: StatementRule =
    ("all times are asked for alike", |c| c.access.temporal.map(|temporal| !temporal));
const HOT_PERIOD: StatementRule =
    ("heavy writes all go to the current period", DataCharacteristics::writes_heavily);
const ISOLATED_TENANTS: StatementRule =
    ("tenants are to be isolated", |c| c.tenants.count.map(|count| count > 0));
const SKEWED_TENANTS: StatementRule = ("one tenant is much larger than the others", |c| {
    c.tenants.largest_gigabytes.map(|size| size > LARGE_TENANT_GIGABYTES)
});
const CROSS_TENANT_QUERIES: StatementRule = ("queries often span tenants or categories", |_| None);
const LARGE_DATA: StatementRule =
    ("the data is large and needs a better distribution", |c| is_small(c).map(|small| !small));
const MIXED_ACCESS: StatementRule = ("requests take several paths to the same items", |_| None);
const SMALL_DATA: StatementRule = ("the data is small", is_small);
const TARGETED_QUERIES: StatementRule =
    ("queries are to find items by their properties", |c| c.access.by_id_only.map(|by_id| !by_id));

fn is_small(c: &DataCharacteristics) -> Option<bool> {
    let by_size = c.volume.gigabytes.map(|size| size < SMALL_GIGABYTES);
    let by_items = c.volume.items.map(|items| items <= MANY_ITEMS);
    match (by_size, by_items) {
        (Some(by_size), Some(by_items)) => Some(by_size && by_items),
        (by_size, by_items) => by_size.or(by_items),
    }
}

/// What the guide says of a kind of strategy: its name, "When to Use", "When to Avoid", and its costs.
pub(super) type GuideSection =
    (&'static str, &'static [StatementRule], &'static [StatementRule], [&'static str; 2]);

impl StrategyKind {
    pub(super) fn guide(self) -> GuideSection {
        match self {
            Self::ItemId => (
                "the item's id",
                &[POINT_READS, UNIFORM_ACCESS, HEAVY_WRITES],
                &[TARGETED_QUERIES],
                [
                    "every query that is not a point read is a fan-out (the guide's hyperfragmentation)",
                    "no transaction spans two items",
                ],
            ),
            Self::EntityId => (
                "entity id",
                &[HEAVY_WRITES, UNIFORM_ACCESS],
                &[RECENT_FIRST, CROSS_TENANT_QUERIES],
                [
                    "a query over several entities visits a partition each, or all",
                    "an entity that grows for ever meets 20 GB: add a level or a period then",
                ],
            ),
            Self::Time => (
                "time",
                &[RECENT_FIRST, ARCHIVED_PERIODS],
                &[ALL_TIMES, HOT_PERIOD],
                [
                    "all writes of now go to one partition, which takes 10,000 RU/s at most",
                    "a query without a time is a fan-out",
                ],
            ),
            Self::Hybrid => (
                "hybrid: entity and time",
                &[LARGE_DATA, MIXED_ACCESS, RECENT_FIRST],
                &[SMALL_DATA, UNIFORM_ACCESS],
                [
                    "a query over several periods visits a partition each; over several entities, all",
                    "the key is computed: the app stores it in a property of its own and never in two ways",
                ],
            ),
            Self::TimeAndHash => (
                "synthetic: time and hash",
                &[HEAVY_WRITES, RECENT_FIRST],
                &[SMALL_DATA, TARGETED_QUERIES],
                ["each query visits all buckets of each of its periods", MORE_BUCKETS],
            ),
            Self::Tenant => (
                "category: the tenant",
                &[ISOLATED_TENANTS],
                &[SKEWED_TENANTS, CROSS_TENANT_QUERIES],
                [
                    "one large tenant meets 20 GB and 10,000 RU/s: it then needs a second level",
                    "reports over all tenants are fan-outs",
                ],
            ),
            Self::Hierarchical => (
                "hierarchical",
                &[ISOLATED_TENANTS, SKEWED_TENANTS],
                &[CROSS_TENANT_QUERIES],
                [
                    "a query of a tenant visits the few physical partitions that hold it, not one logical partition",
                    "a transaction holds only items whose levels are all equal",
                ],
            ),
            Self::Synthetic => (
                "synthetic: hash buckets",
                &[HEAVY_WRITES, UNIFORM_ACCESS],
                &[TARGETED_QUERIES, SMALL_DATA],
                ["no query can name its partition unless it knows the hashed value", MORE_BUCKETS],
            ),
        }
    }
}

const MORE_BUCKETS: &str = "more buckets later move almost every value: begin with enough";
