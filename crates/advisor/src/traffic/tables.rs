//! The sums of the rows of the tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{MAX_COUNTED_ROWS, rows::TrafficRow};

/// The handler's line about the keys of a container.
const USE_LINE_MESSAGE: &str = "Measured the use of logical partitions";

/// The sums of all tables. The maps have at most [`MAX_COUNTED_ROWS`] entries; the rows of other keys, texts and
/// requests count in the sums alone.
#[derive(Debug, Default)]
pub(super) struct TrafficTables {
    /// Requests by the name of their operation.
    pub(super) operations: BTreeMap<String, f64>,
    /// True when the operations are those of the table of requests, which counts them exactly.
    has_requests: bool,
    /// The rows of each text of a query, and its queries.
    pub(super) texts: BTreeMap<String, QueryText>,
    /// The logical partitions of each query, and the physical ones.
    partitions_of_queries: HashMap<String, Places>,
    ranges_of_queries: HashMap<String, Places>,
    /// Request units by key, and those of all keys.
    pub(super) keys: HashMap<String, f64>,
    pub(super) request_units_of_keys: f64,
    /// Sizes by key, in KB.
    pub(super) sizes: HashMap<String, f64>,
    /// Calls by function.
    pub(super) functions: BTreeMap<String, f64>,
    pub(super) handler: HandlerLines,
    pub(super) containers: BTreeSet<String>,
    pub(super) throttled: f64,
    /// True when a map has no room for more.
    pub(super) is_bounded: bool,
}

/// The executions of one text.
#[derive(Debug, Default)]
pub(super) struct QueryText {
    rows: f64,
    queries: BTreeSet<String>,
}

/// The first place of a request, and true when it has several.
#[derive(Debug, Default)]
struct Places {
    first: Option<String>,
    are_several: bool,
}

/// The sums of the handler's lines on the use of logical partitions.
#[derive(Debug, Default)]
pub(super) struct HandlerLines {
    pub(super) request_units: f64,
    /// Request units of the hottest partitions, by the hashes of their keys.
    pub(super) by_partition: HashMap<String, f64>,
    /// The Gini coefficients of minutes, each times the request units of its minute, and these.
    gini: f64,
    with_gini: f64,
    /// The most partitions of a minute.
    pub(super) partitions: f64,
    queries: f64,
    crossing: f64,
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
        let requests = row.number(&["Requests", "count_"]).unwrap_or(1.0);
        match table {
            TrafficTable::DataPlaneRequests => self.data_plane(row, requests),
            TrafficTable::RequestUnitsByKey => self.by_key(row, requests),
            TrafficTable::SizesByKey => {
                let size = row.number(&["SizeKb"]).unwrap_or_default();
                let largest = row.text("PartitionKey").map(|key| (&mut self.sizes, key));
                if let Some(Some(largest)) = largest.map(|(sizes, key)| bounded(sizes, key)) {
                    *largest = largest.max(size);
                }
            }
            TrafficTable::Queries => self.query(row, requests),
            TrafficTable::Lines => {
                let function = row.text("function").unwrap_or_default();
                *self.functions.entry(function.to_owned()).or_default() += requests;
            }
            TrafficTable::LinesOfUse => {
                self.throttled += row.number(&["store.throttled"]).unwrap_or_default();
                self.handler.add(row);
            }
        }
        true
    }

    fn data_plane(&mut self, row: &TrafficRow, requests: f64) {
        if row.number(&["StatusCode"]) == Some(429.0) {
            self.throttled += requests;
            return;
        }
        // From now on the counts of the other table are left out.
        if !self.has_requests {
            self.has_requests = true;
            self.operations.clear();
        }
        *self.operations.entry(operation(row)).or_default() += requests;
    }

    fn by_key(&mut self, row: &TrafficRow, requests: f64) {
        let Some(key) = row.text("PartitionKey") else { return };
        let units = row.number(&["RequestCharge", "sum_RequestCharge"]).unwrap_or_default();
        self.request_units_of_keys += units;
        match bounded(&mut self.keys, key) {
            Some(sum) => *sum += units,
            None => self.is_bounded = true,
        }
        let mut is_new = true;
        if operation(row).to_ascii_lowercase().contains("query")
            && let Some(activity) = row.text("ActivityId")
            && let Some(places) = bounded(&mut self.partitions_of_queries, activity)
        {
            is_new = places.add(key);
        }
        // A query in several partitions has a row for each, and is counted once.
        if !self.has_requests && is_new {
            *self.operations.entry(operation(row)).or_default() += requests;
        }
    }

    fn query(&mut self, row: &TrafficRow, requests: f64) {
        if let (Some(query), Some(range)) =
            (row.text("ActivityId"), row.text("PartitionKeyRangeId"))
        {
            match bounded(&mut self.ranges_of_queries, query) {
                Some(places) => _ = places.add(range),
                None => self.is_bounded = true,
            }
        }
        let Some(text) = row.text("QueryText") else { return };
        if self.texts.len() >= MAX_COUNTED_ROWS && !self.texts.contains_key(text) {
            self.is_bounded = true;
            return;
        }
        let text = self.texts.entry(text.to_owned()).or_default();
        text.rows += requests;
        // A query has a row for each page and each physical partition.
        if let Some(query) = row.text("CorrelatedActivityId")
            && text.queries.len() < QueryText::MAX_QUERIES
        {
            text.queries.insert(query.to_owned());
        }
    }

    /// Returns the share of the queries in one logical partition, where rows have it.
    pub(super) fn queries_in_one_partition(&self) -> Option<f64> {
        let queries = &self.partitions_of_queries;
        let (all, several) = counts(queries);
        (all > 0.0).then(|| (all - several) / all)
    }

    /// Returns the number of queries, and of those that go to several partitions: by the physical partitions in the
    /// table of queries, or by the handler's lines.
    pub(super) fn crossing_queries(&self) -> (f64, f64) {
        if self.ranges_of_queries.is_empty() {
            (self.handler.queries, self.handler.crossing)
        } else {
            counts(&self.ranges_of_queries)
        }
    }
}

fn counts(queries: &HashMap<String, Places>) -> (f64, f64) {
    let count = |n: usize| crate::words::float(n as u64);
    let several = queries.values().filter(|places| places.are_several).count();
    (count(queries.len()), count(several))
}

impl QueryText {
    /// The queries of a text that are counted one by one.
    const MAX_QUERIES: usize = 100;

    /// Returns the number of queries of this text, by its rows.
    pub(super) fn executions(&self) -> f64 {
        let queries = self.queries.len();
        let is_counted = (1..Self::MAX_QUERIES).contains(&queries);
        if is_counted { crate::words::float(queries as u64) } else { self.rows }
    }
}

impl Places {
    /// Adds a place. Returns true for the first one.
    fn add(&mut self, place: &str) -> bool {
        let is_first = self.first.is_none();
        let first = self.first.get_or_insert_with(|| place.to_owned());
        self.are_several |= first != place;
        is_first
    }
}

impl HandlerLines {
    /// Adds the ten hottest partitions of a minute, and the sums of all.
    fn add(&mut self, row: &TrafficRow) {
        let number = |column: &str| row.number(&[column]).unwrap_or_default();
        let units = number("request_charge_ru");
        self.request_units += units;
        self.queries += number("store.queries");
        self.crossing += number("store.cross_partition_queries");
        self.partitions = self.partitions.max(number("partitions"));
        if row.has("partitions.gini") {
            self.gini += number("partitions.gini") * units;
            self.with_gini += units;
        }
        let top = row.text("partitions.top").unwrap_or("[]");
        let top: Vec<(String, f64, u64)> = serde_json::from_str(top).unwrap_or_default();
        for (name, request_units, _) in top {
            if let Some(sum) = bounded(&mut self.by_partition, &name) {
                *sum += request_units;
            }
        }
    }

    /// Returns the mean of the Gini coefficients of the minutes, weighted by their request units.
    pub(super) fn gini(&self) -> Option<f64> {
        (self.with_gini > 0.0).then(|| self.gini / self.with_gini)
    }
}

/// Returns the entry of a key, or `None` when there is no room for a new one.
fn bounded<'a, T: Default>(map: &'a mut HashMap<String, T>, key: &str) -> Option<&'a mut T> {
    let has_room = map.len() < MAX_COUNTED_ROWS || map.contains_key(key);
    has_room.then(|| map.entry(key.to_owned()).or_default())
}

fn operation(row: &TrafficRow) -> String {
    row.text("OperationName").unwrap_or_default().to_owned()
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
