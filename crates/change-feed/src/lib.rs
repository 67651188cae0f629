#![doc = include_str!("../README.md")]

mod lease;
mod position;

pub use lease::{EpkRange, LeaseItem, LeaseRange, lease_prefix};
pub use position::{lsn_of_continuation, lsn_of_session, sdk_continuation};
