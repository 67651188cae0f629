//! The constants of the model, each with its source.
//!
//! *Published*: Microsoft's rules for writes, point reads and feeds, in
//! <https://learn.microsoft.com/azure/cosmos-db/understand-request-unit-consumption>.
//! *Fitted*: to the thirty figures of Microsoft's article on modelling a blog (`tests/figures.rs` has
//! them) for queries, on which nothing is published.

/// Request units of a point read by the size of the item in KB. Published.
const READ_RU_BY_KB: [(f64, f64); 12] = [
    (1.0, 1.0),
    (2.0, 1.04),
    (4.0, 1.14),
    (8.0, 1.33),
    (16.0, 1.67),
    (32.0, 2.19),
    (64.0, 4.76),
    (128.0, 9.95),
    (256.0, 20.28),
    (512.0, 40.95),
    (1_024.0, 145.9),
    (2_048.0, 291.8),
];

/// Request units of a write by the size of the item in KB, without its index. Published.
const WRITE_RU_BY_KB: [(f64, f64); 12] = [
    (1.0, 4.95),
    (2.0, 6.29),
    (4.0, 6.67),
    (8.0, 7.04),
    (16.0, 9.52),
    (32.0, 11.23),
    (64.0, 22.67),
    (128.0, 48.19),
    (256.0, 98.29),
    (512.0, 184.57),
    (1_024.0, 625.0),
    (2_048.0, 1_250.0),
];

/// The request units of a request that is refused after a look at the item: those of a small read.
pub const LOOKUP_RU: f64 = 1.0;

/// The request units of a term that is put into the index or taken out of it. Published.
pub const TERM_RU: f64 = 0.2;
/// The terms of an indexed value: one for equality and one for ranges. Fitted.
pub const TERMS_PER_VALUE: u32 = 2;
/// The request units of each operation of a patch, in addition to the replacement. Published.
pub const PATCH_OPERATION_RU: f64 = 0.4;

/// The request units of the start of a query in one physical partition. Fitted.
pub const QUERY_START_RU: f64 = 2.5;
/// The request units of a look-up of one value or range in the index. Fitted.
pub const SEEK_RU: f64 = 0.2;
/// The request units of an item that a query loads, without its size. Fitted.
pub const LOADED_ITEM_RU: f64 = 0.08;
/// The request units of each KB that a query loads. Fitted.
pub const LOADED_KB_RU: f64 = 0.08;
/// The request units of each KB that a query returns. Fitted: the figures hardly separate it from [`LOADED_KB_RU`].
pub const RETURNED_KB_RU: f64 = 0.02;

/// Returns the request units of a point read of an item of `bytes` bytes.
pub fn read(bytes: usize) -> f64 {
    between(&READ_RU_BY_KB, kilobytes(bytes))
}

/// Returns the request units of a write of an item of `bytes` bytes, without its index.
pub fn write(bytes: usize) -> f64 {
    between(&WRITE_RU_BY_KB, kilobytes(bytes))
}

/// Returns `bytes` in KB of 1,024 bytes.
pub fn kilobytes(bytes: usize) -> f64 {
    // No body is larger than 4 GB.
    u32::try_from(bytes).map_or(f64::from(u32::MAX), f64::from) / 1_024.0
}

/// Interpolates between two points of a table. Outside of it, returns the first or the last value.
fn between(table: &[(f64, f64); 12], x: f64) -> f64 {
    let line = table.windows(2).find(|points| x <= points[1].0);
    match line {
        None => table[table.len() - 1].1,
        Some(points) => {
            let [(x0, y0), (x1, y1)] = [points[0], points[1]];
            y0 + (y1 - y0) * ((x.max(x0) - x0) / (x1 - x0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn a_size_between_two_of_the_table_costs_in_proportion() {
        for (bytes, reads, writes) in [
            (0, 1.0, 4.95),
            (1_024, 1.0, 4.95),
            (1_536, 1.02, 5.62),
            (2_048, 1.04, 6.29),
            (96 * 1_024, 7.355, 35.43),
            (4_096 * 1_024, 291.8, 1_250.0),
        ] {
            assert!((read(bytes) - reads).abs() < 1e-9, "{bytes}: {}", read(bytes));
            assert!((write(bytes) - writes).abs() < 1e-9, "{bytes}: {}", write(bytes));
        }
    }
}
