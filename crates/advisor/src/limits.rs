//! Limits of the service.

pub(crate) const PHYSICAL_PARTITION_BYTES: f64 = 50.0 * GB;
pub(crate) const GB: f64 = 1_073_741_824.0;
/// The request units a second of a physical partition, and so of a logical one.
pub(crate) const PARTITION_REQUEST_UNITS: f64 = 10_000.0;
pub(crate) const SECONDS_OF_A_DAY: f64 = 86_400.0;
pub(crate) const PARTITION_BYTES: f64 = 20.0 * GB;
