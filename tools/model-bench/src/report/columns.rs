//! The columns of all tables.

use crate::measure::{RequestMeans, StoreMeans};

/// A measured quantity; `None` if it is unknown.
pub(crate) type Quantity = fn(&RequestMeans) -> Option<f64>;

/// The measured quantities of each request, with their heads.
pub(crate) const MEASURED: [(&str, Quantity); 7] = [
    ("STORE REQUESTS", |row| Some(row.store_requests)),
    ("LOGICAL PARTITIONS", logical_partitions),
    ("PHYSICAL", physical_partitions),
    ("ITEMS READ", |row| of_store(row, |seen| seen.items_read)),
    ("RETURNED", |row| of_store(row, |seen| seen.items_returned)),
    ("BYTES SENT", |row| of_store(row, |seen| seen.bytes_sent.round())),
    ("RECEIVED", |row| of_store(row, |seen| seen.bytes_received.round())),
];

pub(crate) fn logical_partitions(row: &RequestMeans) -> Option<f64> {
    of_store(row, |seen| seen.logical_partitions)
}

pub(crate) fn physical_partitions(row: &RequestMeans) -> Option<f64> {
    of_store(row, |seen| seen.physical_partitions)
}

/// Returns a mean of the store's own figures; `None` for requests without them.
fn of_store(row: &RequestMeans, mean: fn(&StoreMeans) -> f64) -> Option<f64> {
    row.seen.as_ref().map(mean)
}

/// Formats a count, or the mean of counts; `-` if it is unknown.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if (value - value.round()).abs() < 0.05 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
    }
}
