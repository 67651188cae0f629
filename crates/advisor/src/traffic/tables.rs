//! The sums of the rows of the tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::rows::TrafficRow;
use crate::words::float;

/// The logical partitions, texts and queries that are counted one by one. The rows of others count in the sums alone.
const MAX_COUNTED_ROWS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct TrafficTables {
    pub(super) operations: BTreeMap<String, f64>,
    /// True when the operations are those of the table of requests, which counts them exactly.
    has_requests: bool,
    pub(super) texts: BTreeMap<String, f64>,
    partitions: QueryPlaces,
    ranges: QueryPlaces,
    pub(super) keys: HashMap<String, f64>,
    pub(super) request_units_of_keys: f64,
    pub(super) sizes: HashMap<String, f64>,
    pub(super) functions: BTreeMap<String, f64>,
    pub(super) handler: HandlerLines,
    pub(super) containers: BTreeSet<String>,
    pub(super) throttled: f64,
    pub(super) is_bounded: bool,
}

/// Two places of each query at most: its logical partitions, or its physical ones.
#[derive(Debug, Default)]
struct QueryPlaces(HashMap<String, BTreeSet<String>>);

#[derive(Debug, Default)]
pub(super) struct HandlerLines {
    pub(super) request_units: f64,
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
    let is_line = |message: &str| row.text("message") == Some(message);
    let add: AddRow = match row.text("Type").or(row.text("$table")) {
        Some("CDBDataPlaneRequests") => TrafficTables::data_plane,
        Some("CDBPartitionKeyRUConsumption") => TrafficTables::by_key,
        Some("CDBPartitionKeyStatistics") => TrafficTables::size,
        Some("CDBQueryRuntimeStatistics") => TrafficTables::query,
        _ if is_line("Answered a request") && row.has("function") => TrafficTables::call,
        _ if is_line("Measured the use of logical partitions") => TrafficTables::line_of_use,
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
        let largest = row.text("PartitionKey").and_then(|key| bounded(&mut self.sizes, key));
        if let Some(largest) = largest {
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
        let is_query = operation(row).to_ascii_lowercase().contains("query");
        let query = row.text("ActivityId").filter(|_| is_query);
        // A query in several partitions has a row for each, and is counted once.
        let is_new = query.and_then(|query| self.partitions.add(query, key)).unwrap_or(true);
        if !self.has_requests && is_new {
            *self.operations.entry(operation(row)).or_default() += requests;
        }
    }

    fn query(&mut self, row: &TrafficRow, requests: f64) {
        let place = row.text("ActivityId").zip(row.text("PartitionKeyRangeId"));
        self.is_bounded |=
            place.is_some_and(|(query, range)| self.ranges.add(query, range).is_none());
        let Some(text) = row.text("QueryText") else { return };
        if self.texts.len() < MAX_COUNTED_ROWS || self.texts.contains_key(text) {
            *self.texts.entry(text.to_owned()).or_default() += requests;
        } else {
            self.is_bounded = true;
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

    pub(super) fn queries_in_one_partition(&self) -> Option<f64> {
        let (all, several) = self.partitions.counts();
        (all > 0.0).then(|| (all - several) / all)
    }

    /// All, and those in several physical partitions: by the table of queries, or by the handler's lines.
    pub(super) fn crossing_queries(&self) -> (f64, f64) {
        if self.ranges.0.is_empty() {
            (self.handler.queries, self.handler.crossing)
        } else {
            self.ranges.counts()
        }
    }
}

impl QueryPlaces {
    fn add(&mut self, query: &str, place: &str) -> Option<bool> {
        let places = bounded(&mut self.0, query)?;
        let is_new = places.is_empty();
        if places.len() < 2 {
            places.insert(place.to_owned());
        }
        Some(is_new)
    }

    fn counts(&self) -> (f64, f64) {
        let several = self.0.values().filter(|places| places.len() > 1).count();
        (float(self.0.len() as u64), float(several as u64))
    }
}

fn bounded<'a, T: Default>(map: &'a mut HashMap<String, T>, key: &str) -> Option<&'a mut T> {
    let has_room = map.len() < MAX_COUNTED_ROWS || map.contains_key(key);
    has_room.then(|| map.entry(key.to_owned()).or_default())
}

fn operation(row: &TrafficRow) -> String {
    row.text("OperationName").unwrap_or_default().to_owned()
}
