//! `tributary-partition sample` and `monitor` on a live container: the program, the SDK, and the local endpoint.

#![expect(
    clippy::cast_precision_loss,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do; counts are small"
)]

mod files;
mod items;
mod monitor;
mod troubles;
mod world;
