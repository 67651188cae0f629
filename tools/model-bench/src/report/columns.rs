//! The columns of all tables.

use crate::measure::{Measured, Seen};

/// One of the things that were measured; `None` where it cannot be known.
pub(crate) type Quantity = fn(&Measured) -> Option<f64>;

/// What was measured of each request, with its head.
pub(crate) const MEASURED: [(&str, Quantity); 7] = [
    ("STORE REQUESTS", |row| Some(row.store_requests)),
    ("LOGICAL PARTITIONS", logical_partitions),
    ("PHYSICAL", physical_partitions),
    ("ITEMS READ", |row| of_store(row, |seen| seen.items_read)),
    ("RETURNED", |row| of_store(row, |seen| seen.items_returned)),
    ("BYTES SENT", |row| of_store(row, |seen| seen.bytes_sent.round())),
    ("RECEIVED", |row| of_store(row, |seen| seen.bytes_received.round())),
];

pub(crate) fn logical_partitions(row: &Measured) -> Option<f64> {
    of_store(row, |seen| seen.logical_partitions)
}

pub(crate) fn physical_partitions(row: &Measured) -> Option<f64> {
    of_store(row, |seen| seen.physical_partitions)
}

fn of_store(row: &Measured, of: fn(&Seen) -> f64) -> Option<f64> {
    row.seen.as_ref().map(of)
}

/// A count, or the mean of counts; `-` where it cannot be known.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if (value - value.round()).abs() < 0.05 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
    }
}
