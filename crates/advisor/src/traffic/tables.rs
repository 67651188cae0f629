//! The sums of the rows of the tables.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    MAX_ACTIVITIES, MAX_QUERY_TEXTS, MAX_TRAFFIC_KEYS,
    rows::TrafficRow,
    sampled::{SampledMap, hash},
};
use crate::{
    checks::{HOT_SHARE, LARGE_PARTITION_BYTES},
    limits::GB,
    observed::ObservedReads,
    words::{counted, percent},
};

/// The unit of sizes in the tables, in bytes.
const KILOBYTE: f64 = 1_024.0;

/// The handler's line about the keys of a container.
const USE_LINE_MESSAGE: &str = "Measured the use of logical partitions";

/// The sums of all tables.
#[derive(Debug)]
pub(super) struct TrafficTables {
    pub(super) operations: BTreeMap<String, ChargeSum>,
    texts: SampledMap<QueryText>,
    activities: SampledMap<RequestActivity>,
    keys: SampledMap<KeyUse>,
    /// The request units of keys by the handler's lines, and those of all keys.
    used: SampledMap<f64>,
    request_units_used: f64,
    sizes: SampledMap<f64>,
    functions: BTreeMap<String, ChargeSum>,
    containers: BTreeSet<String>,
    throttled: f64,
    has_requests: bool,
}

/// Requests and their request units.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChargeSum {
    pub(super) requests: f64,
    pub(super) request_units: f64,
}

/// The executions of one text.
#[derive(Debug, Default)]
pub(super) struct QueryText {
    pub(super) rows: f64,
    pub(super) queries: BTreeSet<u64>,
    /// The request units of its own rows.
    request_units: f64,
}

/// The request units of a logical partition, and those of them for reads and queries.
#[derive(Debug, Default)]
struct KeyUse {
    request_units: f64,
    of_reads: f64,
}

/// The rows of several tables about one request.
#[derive(Debug, Default)]
struct RequestActivity {
    operation: String,
    key: Option<String>,
    is_in_several: bool,
    /// The hash of the text of a query.
    text: Option<u64>,
    /// Its request units, by the table of requests and by that of keys.
    request_units: f64,
    request_units_of_keys: f64,
}

/// The known tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrafficTable {
    DataPlaneRequests,
    RequestUnitsByKey,
    SizesByKey,
    Queries,
    Lines,
    LinesOfUse,
}

impl Default for TrafficTables {
    fn default() -> Self {
        Self {
            operations: BTreeMap::new(),
            texts: SampledMap::new(MAX_QUERY_TEXTS),
            activities: SampledMap::new(MAX_ACTIVITIES),
            keys: SampledMap::new(MAX_TRAFFIC_KEYS),
            used: SampledMap::new(MAX_TRAFFIC_KEYS),
            request_units_used: 0.0,
            sizes: SampledMap::new(MAX_TRAFFIC_KEYS),
            functions: BTreeMap::new(),
            containers: BTreeSet::new(),
            throttled: 0.0,
            has_requests: false,
        }
    }
}

impl TrafficTables {
    /// Returns true when the row is of a known table.
    pub(super) fn knows(row: &TrafficRow) -> bool {
        table(row).is_some()
    }

    /// Adds a row. Returns false when it is of no known table.
    pub(super) fn add(&mut self, row: &TrafficRow) -> bool {
        let Some(table) = table(row) else { return false };
        if let Some(container) = container(row) {
            self.containers.insert(container.to_owned());
        }
        let sum = ChargeSum {
            requests: row.number(&["Requests", "count_"]).unwrap_or(1.0),
            request_units: row.number(&["RequestCharge", "sum_RequestCharge"]).unwrap_or_default(),
        };
        match table {
            TrafficTable::DataPlaneRequests => self.data_plane(row, sum),
            TrafficTable::RequestUnitsByKey => self.by_key(row, sum),
            TrafficTable::SizesByKey => self.size(row),
            TrafficTable::Queries => self.query(row, sum),
            TrafficTable::Lines => {
                let function = row.text("function").unwrap_or_default();
                let request_units = row.number(&["request_charge_ru"]).unwrap_or_default();
                let total = self.functions.entry(function.to_owned()).or_default();
                total.requests += sum.requests;
                total.request_units += request_units;
            }
            TrafficTable::LinesOfUse => self.line_of_use(row),
        }
        true
    }

    fn data_plane(&mut self, row: &TrafficRow, sum: ChargeSum) {
        if row.number(&["StatusCode"]) == Some(429.0) {
            self.throttled += sum.requests;
            return;
        }
        // These counts are exact: those of the other table are left out from now on.
        if !self.has_requests {
            self.has_requests = true;
            self.operations.clear();
        }
        // No other table has rows about other requests.
        if let Some(activity) = row.text("ActivityId").filter(|_| is_query(row)) {
            self.activities.change(activity, |one| one.request_units += sum.request_units);
        }
        self.operation(row, sum);
    }

    fn operation(&mut self, row: &TrafficRow, sum: ChargeSum) {
        let name = row.text("OperationName").unwrap_or_default();
        let total = self.operations.entry(name.to_owned()).or_default();
        total.requests += sum.requests;
        total.request_units += sum.request_units;
    }

    fn by_key(&mut self, row: &TrafficRow, sum: ChargeSum) {
        let Some(key) = row.text("PartitionKey") else { return };
        let operation = row.text("OperationName").unwrap_or_default();
        let is_read = operation.is_empty() || is_query(row) || operation.starts_with("Read");
        self.keys.change(key, |one| {
            one.request_units += sum.request_units;
            one.of_reads += if is_read { sum.request_units } else { 0.0 };
        });
        let mut is_new = true;
        if let Some(activity) = row.text("ActivityId") {
            self.activities.change(activity, |activity| {
                is_new = activity.key.is_none();
                activity.request_units_of_keys += sum.request_units;
                operation.clone_into(&mut activity.operation);
                activity.is_in_several |=
                    activity.key.as_ref().is_some_and(|earlier| earlier != key);
                activity.key.get_or_insert_with(|| key.to_owned());
            });
        }
        if !self.has_requests {
            // A request in several partitions has a row for each, and is counted once while its activity is
            // kept.
            let requests = if is_new { sum.requests } else { 0.0 };
            self.operation(row, ChargeSum { requests, ..sum });
        }
    }

    /// Adds the ten hottest partitions of a minute, and the request units of all.
    fn line_of_use(&mut self, row: &TrafficRow) {
        self.request_units_used += row.number(&["request_charge_ru"]).unwrap_or_default();
        let top = row.text("partitions.top").unwrap_or("[]");
        let top: Vec<(String, f64, u64)> = serde_json::from_str(top).unwrap_or_default();
        for (name, request_units, _) in top {
            self.used.change(&name, |sum| *sum += request_units);
        }
    }

    /// Returns the reads of keys, where rows have them: by the tables those of reads and queries, by the
    /// handler's lines all request units of a key.
    pub(super) fn reads(&self) -> Option<ObservedReads> {
        let of_tables = self.keys.iter().map(|(key, of)| (key, of.of_reads));
        let of_lines = self.used.iter().map(|(key, request_units)| (key, *request_units));
        ObservedReads::new(of_tables, 0.0)
            .or_else(|| ObservedReads::new(of_lines, self.request_units_used))
    }

    fn size(&mut self, row: &TrafficRow) {
        let (Some(key), Some(size)) = (row.text("PartitionKey"), row.number(&["SizeKb"])) else {
            return;
        };
        self.sizes.change(key, |largest| *largest = largest.max(size));
    }

    fn query(&mut self, row: &TrafficRow, sum: ChargeSum) {
        let Some(text) = row.text("QueryText") else { return };
        let query = row.text("CorrelatedActivityId");
        if let Some(activity) = row.text("ActivityId") {
            self.activities.change(activity, |one| one.text = Some(hash(text)));
        }
        self.texts.change(text, |text| {
            text.rows += sum.requests;
            text.request_units += sum.request_units;
            // A query has a row for each page and each physical partition.
            if let Some(query) =
                query.filter(|_| text.queries.len() < MAX_ACTIVITIES / MAX_QUERY_TEXTS)
            {
                text.queries.insert(hash(query));
            }
        });
    }

    /// Returns the share of the requests of an operation in one logical partition, where rows have it.
    pub(super) fn in_one_partition(&self, operation: &str) -> Option<f64> {
        let of = |several: bool| {
            let activities = self.activities.iter();
            let activities = activities.filter(|(_, activity)| {
                activity.operation == operation
                    && activity.key.is_some()
                    && activity.is_in_several == several
            });
            u32::try_from(activities.count()).unwrap_or(u32::MAX)
        };
        let one = f64::from(of(false));
        let several = f64::from(of(true));
        (one + several > 0.0).then(|| one / (one + several))
    }

    pub(super) fn containers(&self) -> Vec<String> {
        self.containers.iter().cloned().collect()
    }

    /// Returns each text of a query with its executions and its request units: those of its own rows, or
    /// those of the requests that have its text in one table and their charge in another.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &QueryText, f64)> {
        let mut joined: BTreeMap<u64, f64> = BTreeMap::new();
        for (_, activity) in self.activities.iter() {
            if let Some(text) = activity.text {
                let by_keys = activity.request_units_of_keys;
                let request_units =
                    if activity.request_units > 0.0 { activity.request_units } else { by_keys };
                *joined.entry(text).or_default() += request_units / self.activities.share();
            }
        }
        self.texts.iter().map(move |(text, of)| {
            let joined = joined.get(&hash(text)).copied().unwrap_or_default();
            (text, of, if of.request_units > 0.0 { of.request_units } else { joined })
        })
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = (&str, ChargeSum)> {
        self.functions.iter().map(|(function, sum)| (function.as_str(), *sum))
    }

    /// Returns sentences about the findings and the limits of the rows.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let keys = || self.keys.iter().map(|(key, of)| (key, of.request_units));
        let total: f64 = keys().map(|(_, request_units)| request_units).sum();
        if let Some((key, most)) = keys().max_by(|a, b| a.1.total_cmp(&b.1))
            && total > 0.0
        {
            let share = most / total;
            let hot = if share > HOT_SHARE {
                " That is a hot partition: the guide's alert is at 80 %."
            } else {
                ""
            };
            let sampled = if self.keys.is_whole() { "" } else { " (of those that were watched)" };
            notes.push(format!(
                "Of the key that the container has, {key} takes the most request units{sampled}: {}.{hot}",
                percent(share)
            ));
        }
        if let Some((key, size)) = self.sizes.iter().max_by(|a, b| a.1.total_cmp(b.1)) {
            let alert = if *size * KILOBYTE > LARGE_PARTITION_BYTES {
                " The guide's alert is at 15 GB, and a logical partition ends at 20 GB."
            } else {
                ""
            };
            notes.push(format!(
                "The largest logical partition is {key} with {:.1} GB.{alert} Below 1 GB the service reports none.",
                size * KILOBYTE / GB
            ));
        }
        if self.throttled > 0.0 {
            notes.push(format!("{} got 429: throttled.", counted(self.throttled, "request")));
        }
        if self.texts.iter().next().is_none() && self.operations.keys().any(|name| name == "Query")
        {
            notes.push(
                "What the queries filter by is not among the rows: export CDBQueryRuntimeStatistics too, \
                 with full query texts, or write the filters by hand (--write-requests)."
                    .to_owned(),
            );
        }
        notes
    }
}

fn is_query(row: &TrafficRow) -> bool {
    row.text("OperationName").is_some_and(|name| name.to_ascii_lowercase().contains("query"))
}

/// Returns the container of a row.
pub(super) fn container(row: &TrafficRow) -> Option<&str> {
    row.text("CollectionName").or_else(|| row.text("container"))
}

/// Returns the table of a row: by its name, or by columns of this table alone.
fn table(row: &TrafficRow) -> Option<TrafficTable> {
    let by_name = match row.text("Type").or(row.text("$table")) {
        Some("CDBDataPlaneRequests") => Some(TrafficTable::DataPlaneRequests),
        Some("CDBPartitionKeyRUConsumption") => Some(TrafficTable::RequestUnitsByKey),
        Some("CDBPartitionKeyStatistics") => Some(TrafficTable::SizesByKey),
        Some("CDBQueryRuntimeStatistics") => Some(TrafficTable::Queries),
        _ => None,
    };
    let has_charge = || row.has("RequestCharge") || row.has("sum_RequestCharge");
    by_name.or_else(|| match () {
        () if row.text("message") == Some("Answered a request") && row.has("function") => {
            Some(TrafficTable::Lines)
        }
        () if row.text("message") == Some(USE_LINE_MESSAGE) => Some(TrafficTable::LinesOfUse),
        () if row.has("SizeKb") => Some(TrafficTable::SizesByKey),
        () if row.has("QueryText") => Some(TrafficTable::Queries),
        () if row.has("PartitionKey") && has_charge() => Some(TrafficTable::RequestUnitsByKey),
        () if row.has("OperationName") && has_charge() => Some(TrafficTable::DataPlaneRequests),
        () => None,
    })
}
