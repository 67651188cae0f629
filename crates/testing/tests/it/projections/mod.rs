//! Projections, whatever the store, the host and the deliveries do.

mod audit_of_copies;
mod eager;
mod failure_contract;
mod poisoned;
mod stale_reads;
mod texts;
mod window_repairs;
