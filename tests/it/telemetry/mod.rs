//! The telemetry of the handler: log lines without secrets, traces and metrics.

mod export;
pub(crate) mod handler;
mod log_lines;
mod partitions;
mod secrets;
