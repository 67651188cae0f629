//! Limits of the service that estimates and findings share.

/// The data of a physical partition, in bytes: 50 GB, a limit of the service.
pub(crate) const PHYSICAL_PARTITION_BYTES: f64 = 50.0 * GB;
pub(crate) const GB: f64 = 1_073_741_824.0;
/// Request units a second of a physical partition, and so of a logical one: a limit of the service.
pub(crate) const PARTITION_REQUEST_UNITS: f64 = 10_000.0;
pub(crate) const SECONDS_OF_A_DAY: f64 = 86_400.0;
/// The data of a logical partition, in bytes: 20 GB, a limit of the service.
pub(crate) const PARTITION_BYTES: f64 = 20.0 * GB;
