//! The measured use of the logical partitions of the container's current key.

use serde::Serialize;

use super::{Traffic, TrafficError, tables::TrafficTables};
use crate::distribution;

/// The hot partitions that are named.
const MAX_HOT_PARTITIONS: usize = 10;

/// The measured use of the logical partitions of a container. Where both have a number, that of the diagnostic tables
/// counts and not that of the handler's lines: the tables know all clients of the account.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionUse {
    /// Request units.
    pub request_units: f64,
    /// Used logical partitions; by the handler's lines, the most of a minute.
    pub partitions: f64,
    /// The Gini coefficient of the request units of the partitions.
    pub gini: Option<f64>,
    /// Queries.
    pub queries: f64,
    /// Queries of several partitions.
    pub cross_partition_queries: f64,
    /// Requests that were answered with 429.
    pub throttled: f64,
    /// The partitions with the most request units: their names and these.
    #[serde(skip)]
    pub(crate) hottest: Vec<(String, f64)>,
    /// The sizes that the store gives, in bytes.
    #[serde(skip)]
    pub(crate) sizes: Vec<(String, f64)>,
    /// The limits of the rows, as sentences.
    #[serde(skip)]
    pub(crate) unknown: Vec<String>,
}

impl Traffic {
    /// Returns the use of the partitions of the container.
    pub fn partition_use(&self) -> Result<PartitionUse, TrafficError> {
        let TrafficTables { keys, sizes, handler, throttled, .. } = &self.tables;
        let (queries, cross_partition_queries) = self.tables.crossing_queries();
        if keys.is_empty() && sizes.is_empty() && handler.request_units == 0.0 && queries == 0.0 {
            let container = self.container.clone().unwrap_or_default();
            return Err(TrafficError::NothingOfContainer(container));
        }
        let by_tables = !keys.is_empty();
        let loads = if by_tables { keys } else { &handler.by_partition };
        let mut hottest: Vec<_> =
            loads.iter().map(|(name, units)| (name.clone(), *units)).collect();
        hottest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        hottest.truncate(MAX_HOT_PARTITIONS);
        let gini = by_tables.then(|| distribution::gini(keys.values().map(|units| (*units, 1.0))));
        let mut unknown = Vec::new();
        let mut say = |when: bool, sentence: &str| {
            unknown.extend(when.then(|| sentence.to_owned()));
        };
        say(
            self.tables.is_bounded,
            "There are more logical partitions or queries than are counted one by one.",
        );
        say(
            !by_tables && handler.request_units > 0.0,
            "The handler tells the ten hottest partitions of each minute and only of its own requests: shares are \
             lower bounds.",
        );
        say(loads.is_empty(), "Nothing tells the request units of partitions.");
        say(queries == 0.0, "Nothing tells of queries.");
        Ok(PartitionUse {
            request_units: if by_tables {
                self.tables.request_units_of_keys
            } else {
                handler.request_units
            },
            partitions: if by_tables {
                crate::words::float(keys.len() as u64)
            } else {
                handler.partitions
            },
            gini: gini.or_else(|| handler.gini()),
            queries,
            cross_partition_queries,
            throttled: *throttled,
            hottest,
            sizes: sizes
                .iter()
                .map(|(key, kilobytes)| (key.clone(), kilobytes * 1_024.0))
                .collect(),
            unknown,
        })
    }
}
