//! The command on files and on a live container.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test ends at its first error")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]
#![allow(clippy::float_cmp, reason = "numbers that must be exact")]
#![allow(clippy::needless_pass_by_value, reason = "json!(…) is passed as it is")]

mod advise;
#[cfg(feature = "cosmos")]
mod live;
mod support;
