//! The measured use of the logical partitions of the container's current key.

use serde::Serialize;

use anyhow::ensure;

use super::{Traffic, tables::TrafficTables};
use crate::{distribution, words::float};

const MAX_HOT_PARTITIONS: usize = 10;

/// The measured use of the logical partitions of a container. Where both have a number, that of the diagnostic tables
/// counts and not that of the handler's lines: the tables know all clients of the account.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionUse {
    pub(crate) request_units: f64,
    /// Used logical partitions; by the handler's lines, the most of a minute.
    pub(crate) partitions: f64,
    /// The Gini coefficient of the request units of the partitions.
    pub(crate) gini: Option<f64>,
    pub(crate) queries: f64,
    /// Queries of several partitions.
    pub(crate) cross_partition_queries: f64,
    pub(crate) throttled: f64,
    #[serde(skip)]
    pub(crate) hottest: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) sizes: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) unknown: Vec<String>,
}

impl Traffic {
    pub(crate) fn partition_use(&self) -> anyhow::Result<PartitionUse> {
        let TrafficTables { keys, sizes, handler, throttled, .. } = &self.tables;
        let (queries, cross_partition_queries) = self.tables.crossing_queries();
        ensure!(
            !keys.is_empty() || !sizes.is_empty() || handler.request_units > 0.0 || queries > 0.0,
            "no row tells of the container `{}`: neither a line of the handler nor a row of \
             CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics or CDBQueryRuntimeStatistics",
            self.container.as_deref().unwrap_or_default()
        );
        let by_tables = !keys.is_empty();
        let (loads, request_units, partitions, gini) = if by_tables {
            let gini = distribution::gini(keys.values().map(|units| (*units, 1.0)));
            (keys, self.tables.request_units_of_keys, float(keys.len() as u64), Some(gini))
        } else {
            (&handler.by_partition, handler.request_units, handler.partitions, handler.gini())
        };
        let hottest = loads.iter().map(|(name, units)| (name.clone(), *units));
        let mut hottest: Vec<_> = hottest.collect();
        hottest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        hottest.truncate(MAX_HOT_PARTITIONS);
        let unknown = [
            (
                self.tables.is_bounded,
                "There are more logical partitions or queries than are counted one by one.",
            ),
            (
                !by_tables && handler.request_units > 0.0,
                "The handler tells the ten hottest partitions of each minute and only of its own requests: shares \
                 are lower bounds.",
            ),
            (loads.is_empty(), "Nothing tells the request units of partitions."),
            (queries == 0.0, "Nothing tells of queries."),
        ];
        let unknown = unknown.into_iter().filter(|(holds, _)| *holds);
        Ok(PartitionUse {
            request_units,
            partitions,
            gini,
            queries,
            cross_partition_queries,
            throttled: *throttled,
            hottest,
            sizes: sizes.iter().map(|(key, kb)| (key.clone(), kb * 1_024.0)).collect(),
            unknown: unknown.map(|(_, sentence)| sentence.to_owned()).collect(),
        })
    }
}
