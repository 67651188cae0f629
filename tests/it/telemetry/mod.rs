//! The telemetry of the handler: log lines without secrets, traces and metrics.

mod export;
mod log_lines;
mod partitions;
mod secrets;
