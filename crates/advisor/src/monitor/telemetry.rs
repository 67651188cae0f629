//! The telemetry of the requests to a container.
//!
//! Two sources are read, as CSV, as JSON Lines or as JSON arrays: lines of the handler on the use of logical
//! partitions, as they are or in rows of `AppTraces`; and rows of the diagnostic tables
//! `CDBPartitionKeyRUConsumption`, `CDBPartitionKeyStatistics` and `CDBQueryRuntimeStatistics`. Where both
//! have a number, that of the tables counts: they know all clients of the account.
//!
//! At most [`MAX_TELEMETRY_KEYS`] logical partitions and queries are counted one by one. The others count in the sums.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use serde::Serialize;
use thiserror::Error;

use super::{HotPartition, PartitionSize, names::PartitionNames};
use crate::traffic::{
    TrafficError,
    rows::{self, TrafficRow},
};

/// The logical partitions, and the queries, that are counted one by one: some 20 MB.
const MAX_TELEMETRY_KEYS: usize = 100_000;

/// The hot partitions that are named.
const MAX_HOT_PARTITIONS: usize = 10;

/// The message of the handler's line.
const USE_LINE_MESSAGE: &str = "Measured the use of logical partitions";

/// The error of telemetry that cannot be used.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// A file cannot be read.
    #[error("{file} {error}")]
    File {
        /// The file.
        file: String,
        /// The reason.
        error: TrafficError,
    },
    /// No row tells of the container.
    #[error(
        "no row of {files} tells of the container `{container}`: neither a line of the handler (\"{USE_LINE_MESSAGE}\") \
         nor a row of CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics or CDBQueryRuntimeStatistics"
    )]
    NothingKnown {
        /// The files.
        files: String,
        /// The container.
        container: String,
    },
}

/// The measured requests to a container.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTelemetry {
    /// The first time in it, as in its row.
    pub from: Option<String>,
    /// The last time in it.
    pub to: Option<String>,
    /// Request units.
    pub request_units: f64,
    /// Queries.
    pub queries: u64,
    /// Queries of several partitions: without a partition key, or in several physical partitions.
    pub cross_partition_queries: u64,
    /// Requests that were answered with 429, by the handler's lines.
    pub throttled: u64,
    #[serde(skip)]
    container: String,
    #[serde(skip)]
    rows: u64,
    #[serde(skip)]
    handler: HandlerLines,
    #[serde(skip)]
    store: StoreTables,
    #[serde(skip)]
    pub(super) names: PartitionNames,
}

/// The sum of the handler's lines.
#[derive(Clone, Debug, Default)]
struct HandlerLines {
    request_units: f64,
    by_partition: HashMap<String, f64>,
    /// The sum of the coefficients of minutes, each times the request units of its minute.
    gini: f64,
    with_gini: f64,
    /// The most partitions of a minute.
    partitions: f64,
    error: f64,
    queries: u64,
    crossing: u64,
}

/// The sum of the diagnostic tables.
#[derive(Clone, Debug, Default)]
struct StoreTables {
    request_units: f64,
    by_key: HashMap<String, f64>,
    sizes: HashMap<String, f64>,
    /// The physical partition of each query, and true for several.
    queries: HashMap<String, (String, bool)>,
    is_bounded: bool,
}

impl RequestTelemetry {
    /// Reads files and keeps the rows of one container.
    pub fn read(files: &[impl AsRef<Path>], container: &str) -> Result<Self, TelemetryError> {
        let mut telemetry = Self { container: container.to_owned(), ..Self::default() };
        for path in files {
            let file = path.as_ref().display().to_string();
            let read = File::open(path)
                .map_err(TrafficError::from)
                .and_then(|opened| telemetry.add(BufReader::new(opened)));
            read.map_err(|error| TelemetryError::File { file, error })?;
        }
        if telemetry.rows == 0 {
            let names = files.iter().map(|file| file.as_ref().display().to_string());
            let files = names.collect::<Vec<_>>().join(", ");
            return Err(TelemetryError::NothingKnown { files, container: container.to_owned() });
        }
        telemetry.sum_up();
        Ok(telemetry)
    }

    fn add(&mut self, from: impl BufRead) -> Result<(), TrafficError> {
        rows::read(from, |row| self.row(&row))
    }

    fn row(&mut self, row: &TrafficRow) {
        if row.text("message") == Some(USE_LINE_MESSAGE)
            && row.text("container") == Some(&self.container)
        {
            self.line(row);
        } else if row.text("CollectionName") == Some(&self.container) {
            if !self.store.row(row) {
                return;
            }
        } else {
            return;
        }
        self.rows += 1;
        if let Some(time) = row.text("TimeGenerated").or(row.text("timestamp")) {
            if self.from.as_deref().is_none_or(|first| time < first) {
                self.from = Some(time.to_owned());
            }
            if self.to.as_deref().is_none_or(|last| time > last) {
                self.to = Some(time.to_owned());
            }
        }
    }

    fn line(&mut self, row: &TrafficRow) {
        let handler = &mut self.handler;
        let units = number(row, "request_charge_ru");
        handler.request_units += units;
        handler.queries += count(row, "store.queries");
        handler.crossing += count(row, "store.cross_partition_queries");
        handler.partitions = handler.partitions.max(number(row, "partitions"));
        handler.error += number(row, "partitions.error_ru");
        self.throttled += count(row, "store.throttled");
        if row.has("partitions.gini") {
            handler.gini += number(row, "partitions.gini") * units;
            handler.with_gini += units;
        }
        let top = row.text("partitions.top").unwrap_or("[]");
        let top: Vec<(String, f64, u64)> = serde_json::from_str(top).unwrap_or_default();
        for (name, request_units, _) in top {
            self.names.add(&name);
            bounded(&mut handler.by_partition, name, |sum| *sum += request_units);
        }
    }

    fn sum_up(&mut self) {
        self.request_units = if self.is_of_the_store() {
            self.store.request_units
        } else {
            self.handler.request_units
        };
        (self.queries, self.cross_partition_queries) = if self.store.queries.is_empty() {
            (self.handler.queries, self.handler.crossing)
        } else {
            let crossing = self.store.queries.values().filter(|(_, several)| *several).count();
            (self.store.queries.len() as u64, crossing as u64)
        };
    }

    fn is_of_the_store(&self) -> bool {
        !self.store.by_key.is_empty()
    }

    fn by_partition(&self) -> &HashMap<String, f64> {
        if self.is_of_the_store() { &self.store.by_key } else { &self.handler.by_partition }
    }

    /// Returns the partitions with the most request units.
    pub(super) fn hottest(&self) -> Vec<HotPartition> {
        let mut hottest: Vec<_> = self.by_partition().iter().collect();
        hottest.sort_by(|a, b| b.1.total_cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let hot = |(name, units): (&String, &f64)| HotPartition {
            name: name.clone(),
            key: if name.starts_with('[') { Some(name.clone()) } else { self.names.key(name) },
            request_units: (units * 100.0).round() / 100.0,
            share: if self.request_units > 0.0 { units / self.request_units } else { 0.0 },
        };
        hottest.into_iter().take(MAX_HOT_PARTITIONS).map(hot).collect()
    }

    /// Returns the sizes in the rows of the store.
    pub(super) fn sizes(&self) -> Vec<PartitionSize> {
        let size = |(key, bytes): (&String, &f64)| PartitionSize {
            key: key.clone(),
            bytes: *bytes,
            is_of_the_store: true,
        };
        self.store.sizes.iter().map(size).collect()
    }

    /// Returns the number of used partitions; by the handler's lines, the most of a minute.
    #[expect(clippy::cast_precision_loss, reason = "at most MAX_TELEMETRY_KEYS")]
    pub(super) fn partitions(&self) -> f64 {
        if self.is_of_the_store() {
            self.store.by_key.len() as f64
        } else {
            self.handler.partitions
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of queries are far below 2^53")]
    pub(super) fn cross_partition_rate(&self) -> Option<f64> {
        (self.queries > 0).then(|| self.cross_partition_queries as f64 / self.queries as f64)
    }

    /// Returns the Gini coefficient of the request units: exact of the store's rows, of the handler's
    /// lines the mean of its minutes, weighted by their request units.
    pub(super) fn gini(&self) -> Option<f64> {
        if self.is_of_the_store() {
            return gini(self.store.by_key.values().copied().collect());
        }
        (self.handler.with_gini > 0.0).then(|| self.handler.gini / self.handler.with_gini)
    }

    /// Returns the limits of the telemetry, as sentences.
    pub(super) fn unknown(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        if self.store.is_bounded {
            unknown.push(format!(
                "The tables have more than {MAX_TELEMETRY_KEYS} logical partitions or queries; the others are in the \
                 sums only."
            ));
        }
        if !self.is_of_the_store() && self.handler.request_units > 0.0 {
            unknown.push(
                "The handler tells the ten hottest partitions of each minute and only of its own \
                 requests: shares are lower bounds."
                    .to_owned(),
            );
        }
        if self.handler.request_units + self.store.request_units == 0.0 {
            unknown.push("Nothing tells the request units of partitions.".to_owned());
        }
        if self.queries == 0 {
            unknown.push("Nothing tells of queries.".to_owned());
        }
        unknown
    }
}

impl StoreTables {
    /// Adds a row. Returns false for a row without information.
    fn row(&mut self, row: &TrafficRow) -> bool {
        let key = row.text("PartitionKey");
        if let (Some(key), true) = (key, row.has("SizeKb")) {
            let bytes = number(row, "SizeKb") * 1024.0;
            let kept =
                bounded(&mut self.sizes, key.to_owned(), |largest| *largest = largest.max(bytes));
            self.is_bounded |= !kept;
        } else if let (Some(query), Some(range)) =
            (row.text("ActivityId"), row.text("PartitionKeyRangeId"))
            && row.has("QueryText")
        {
            let kept = bounded(&mut self.queries, query.to_owned(), |(first, several)| {
                if first.is_empty() {
                    range.clone_into(first);
                }
                *several |= first != range;
            });
            self.is_bounded |= !kept;
        } else if row.has("RequestCharge") || row.has("sum_RequestCharge") {
            let units = row.number(&["RequestCharge", "sum_RequestCharge"]).unwrap_or_default();
            self.request_units += units;
            if let Some(key) = key {
                let kept = bounded(&mut self.by_key, key.to_owned(), |sum| *sum += units);
                self.is_bounded |= !kept;
            }
        } else {
            return false;
        }
        true
    }
}

/// Returns a number; 0 where there is none.
fn number(row: &TrafficRow, column: &str) -> f64 {
    row.number(&[column]).unwrap_or_default()
}

fn count(row: &TrafficRow, column: &str) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast saturates, and the number is not negative"
    )]
    let count = number(row, column) as u64;
    count
}

/// Changes an entry. Returns false when there is no room for a new one.
fn bounded<T: Default>(
    map: &mut HashMap<String, T>,
    key: String,
    change: impl FnOnce(&mut T),
) -> bool {
    let has_room = map.len() < MAX_TELEMETRY_KEYS || map.contains_key(&key);
    if has_room {
        change(map.entry(key).or_default());
    }
    has_room
}

fn gini(mut loads: Vec<f64>) -> Option<f64> {
    loads.sort_by(f64::total_cmp);
    let total: f64 = loads.iter().sum();
    let mut below = 0.0;
    let mut sum = 0.0;
    let mut count = 0.0;
    for load in loads {
        below += 2.0 * sum + load;
        sum += load;
        count += 1.0;
    }
    (total > 0.0).then(|| 1.0 - below / (count * total))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn telemetry(rows: &[Value]) -> RequestTelemetry {
        let mut telemetry =
            RequestTelemetry { container: "posts".into(), ..RequestTelemetry::default() };
        let text = Value::from(rows).to_string();
        telemetry.add(text.as_bytes()).unwrap();
        telemetry.sum_up();
        telemetry
    }

    fn line(container: &str, top: &Value) -> Value {
        json!({
            "message": USE_LINE_MESSAGE, "container": container, "timestamp": "2026-11-22T19:00:00Z",
            "request_charge_ru": 100.0, "store.queries": 8, "store.cross_partition_queries": 2,
            "store.throttled": 3, "partitions": 12, "partitions.gini": 0.5,
            "partitions.error_ru": 0.0, "partitions.top": top.to_string(),
        })
    }

    #[test]
    fn lines_of_the_handler_add_up_as_they_are_and_in_rows() {
        let first = line("posts", &json!([["a", 60.0, 6], ["b", 10.0, 1]]));
        let second = line("posts", &json!([["b", 50.0, 6]]));
        let row = json!({"TimeGenerated": "2026-11-22T19:01:00Z", "Message": second.to_string()});
        let told = telemetry(&[first, row, line("users", &json!([["u", 9.0, 1]]))]);
        assert_eq!(
            (told.rows, told.queries, told.cross_partition_queries, told.throttled),
            (2, 16, 4, 6)
        );
        assert_eq!(told.cross_partition_rate(), Some(0.25));
        assert_eq!(told.gini(), Some(0.5));
        let hottest = told.hottest();
        let shares: Vec<_> = hottest.iter().map(|hot| (&*hot.name, hot.share)).collect();
        assert_eq!(shares, [("a", 0.3), ("b", 0.3)]);
        assert_eq!(told.to.as_deref(), Some("2026-11-22T19:01:00Z"));
    }

    #[test]
    fn the_tables_of_the_store_count_more_than_the_lines() {
        let charge = |key, units| json!({"CollectionName": "posts", "PartitionKey": key, "RequestCharge": units});
        let query = |id, range| json!({"CollectionName": "posts", "ActivityId": id, "PartitionKeyRangeId": range, "QueryText": "SELECT 1"});
        let told = telemetry(&[
            line("posts", &json!([["a", 60.0, 6]])),
            charge(r#"["hot"]"#, json!(90.0)),
            charge(r#"["cold"]"#, json!("10")),
            json!({"CollectionName": "posts", "PartitionKey": "[\"hot\"]", "SizeKb": 2_097_152}),
            query("1", "0"),
            query("1", "1"),
            query("2", "0"),
            query("2", "0"),
            json!({"CollectionName": "users", "PartitionKey": "[\"u\"]", "RequestCharge": 1}),
        ]);
        let hot = &told.hottest()[0];
        assert_eq!((hot.key.as_deref(), hot.share), (Some(r#"["hot"]"#), 0.9));
        assert_eq!((told.queries, told.cross_partition_queries), (2, 1));
        assert!((told.gini().unwrap() - 0.4).abs() < 1e-9);
        assert!((told.sizes()[0].bytes - 2_147_483_648.0).abs() < 1.0);
    }

    #[test]
    fn a_file_without_known_rows_is_refused() {
        let file =
            std::env::temp_dir().join(format!("tributary-monitor-{}.jsonl", std::process::id()));
        std::fs::write(&file, "{\"message\": \"Answered a request\"}\n").unwrap();
        let error = RequestTelemetry::read(&[&file], "posts").unwrap_err().to_string();
        assert!(error.contains("tells of the container `posts`"), "{error}");
        std::fs::write(&file, "{").unwrap();
        let error = RequestTelemetry::read(&[&file], "posts").unwrap_err().to_string();
        assert!(error.contains("is no JSON"), "{error}");
        std::fs::remove_file(&file).unwrap();
        let error = RequestTelemetry::read(&[&file], "posts").unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
