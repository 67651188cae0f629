//! The telemetry of the handler: log lines, traces and metrics.

mod export;
mod log_lines;
mod partitions;
