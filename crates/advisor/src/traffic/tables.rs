//! The sums of the rows of the tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::rows::TrafficRow;
use crate::words::float;

const USE_LINE_MESSAGE: &str = "Measured the use of logical partitions";

/// The logical partitions, texts and queries that are counted one by one. The rows of others count in the sums
/// alone.
const MAX_COUNTED_ROWS: usize = 100_000;

const MAX_QUERIES_OF_A_TEXT: usize = 100;

#[derive(Debug, Default)]
pub(super) struct TrafficTables {
    pub(super) operations: BTreeMap<String, f64>,
    /// True when the operations are those of the table of requests, which counts them exactly.
    has_requests: bool,
    pub(super) texts: BTreeMap<String, QueryText>,
    /// Two logical partitions of each query at most, and two physical ones.
    partitions_of_queries: HashMap<String, BTreeSet<String>>,
    ranges_of_queries: HashMap<String, BTreeSet<String>>,
    pub(super) keys: HashMap<String, f64>,
    pub(super) request_units_of_keys: f64,
    pub(super) sizes: HashMap<String, f64>,
    pub(super) functions: BTreeMap<String, f64>,
    pub(super) handler: HandlerLines,
    pub(super) containers: BTreeSet<String>,
    pub(super) throttled: f64,
    pub(super) is_bounded: bool,
}

/// The rows of a text, and its queries: a query has a row for each page and each physical partition.
#[derive(Debug, Default)]
pub(super) struct QueryText {
    rows: f64,
    queries: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct HandlerLines {
    pub(super) request_units: f64,
    /// Request units of the hottest partitions, by the hashes of their keys.
    pub(super) by_partition: HashMap<String, f64>,
    /// The Gini coefficients of minutes, each times the request units of its minute, and these.
    pub(super) gini: f64,
    pub(super) with_gini: f64,
    pub(super) partitions: f64,
    queries: f64,
    crossing: f64,
}

type AddRow = fn(&mut TrafficTables, &TrafficRow, f64);

/// Returns the table of a row: by its name, or by columns of this table alone.
pub(super) fn table(row: &TrafficRow) -> Option<AddRow> {
    let has_charge = row.has("RequestCharge") || row.has("sum_RequestCharge");
    let message = row.text("message");
    let add: AddRow = match row.text("Type").or(row.text("$table")) {
        Some("CDBDataPlaneRequests") => TrafficTables::data_plane,
        Some("CDBPartitionKeyRUConsumption") => TrafficTables::by_key,
        Some("CDBPartitionKeyStatistics") => TrafficTables::size,
        Some("CDBQueryRuntimeStatistics") => TrafficTables::query,
        _ if message == Some("Answered a request") && row.has("function") => TrafficTables::call,
        _ if message == Some(USE_LINE_MESSAGE) => TrafficTables::line_of_use,
        _ if row.has("SizeKb") => TrafficTables::size,
        _ if row.has("QueryText") => TrafficTables::query,
        _ if row.has("PartitionKey") && has_charge => TrafficTables::by_key,
        _ if row.has("OperationName") && has_charge => TrafficTables::data_plane,
        _ => return None,
    };
    Some(add)
}

impl TrafficTables {
    fn size(&mut self, row: &TrafficRow, _: f64) {
        let size = row.number(&["SizeKb"]).unwrap_or_default();
        if let Some(largest) =
            row.text("PartitionKey").and_then(|key| bounded(&mut self.sizes, key))
        {
            *largest = largest.max(size);
        }
    }

    fn call(&mut self, row: &TrafficRow, requests: f64) {
        let function = row.text("function").unwrap_or_default();
        *self.functions.entry(function.to_owned()).or_default() += requests;
    }

    fn data_plane(&mut self, row: &TrafficRow, requests: f64) {
        if row.number(&["StatusCode"]) == Some(429.0) {
            self.throttled += requests;
            return;
        }
        // From now on the counts of the other table are left out.
        if !std::mem::replace(&mut self.has_requests, true) {
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
            is_new = places.is_empty();
            add_place(places, key);
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
                Some(places) => add_place(places, range),
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
        if text.queries.len() < MAX_QUERIES_OF_A_TEXT {
            text.queries.extend(row.text("CorrelatedActivityId").map(str::to_owned));
        }
    }

    fn line_of_use(&mut self, row: &TrafficRow, _: f64) {
        let number = |column: &str| row.number(&[column]).unwrap_or_default();
        let handler = &mut self.handler;
        let units = number("request_charge_ru");
        self.throttled += number("store.throttled");
        handler.request_units += units;
        handler.queries += number("store.queries");
        handler.crossing += number("store.cross_partition_queries");
        handler.partitions = handler.partitions.max(number("partitions"));
        if row.has("partitions.gini") {
            handler.gini += number("partitions.gini") * units;
            handler.with_gini += units;
        }
        let top = row.text("partitions.top").unwrap_or("[]");
        let top: Vec<(String, f64, u64)> = serde_json::from_str(top).unwrap_or_default();
        for (name, request_units, _) in top {
            if let Some(sum) = bounded(&mut handler.by_partition, &name) {
                *sum += request_units;
            }
        }
    }

    /// Returns the share of the queries in one logical partition, where rows have it.
    pub(super) fn queries_in_one_partition(&self) -> Option<f64> {
        let (all, several) = counts(&self.partitions_of_queries);
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

fn add_place(places: &mut BTreeSet<String>, place: &str) {
    if places.len() < 2 {
        places.insert(place.to_owned());
    }
}

fn counts(queries: &HashMap<String, BTreeSet<String>>) -> (f64, f64) {
    let several = queries.values().filter(|places| places.len() > 1).count();
    (float(queries.len() as u64), float(several as u64))
}

impl QueryText {
    pub(super) fn executions(&self) -> f64 {
        let queries = self.queries.len();
        let is_counted = (1..MAX_QUERIES_OF_A_TEXT).contains(&queries);
        if is_counted { float(queries as u64) } else { self.rows }
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
