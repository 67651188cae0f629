//! Leases of the change feed as the trigger stores them, and positions for the SDK.

mod lease;
mod position;

pub use lease::{EpkRange, LeaseItem, LeaseRange, lease_prefix};
pub use position::{lsn_of_continuation, lsn_of_session, sdk_continuation};
