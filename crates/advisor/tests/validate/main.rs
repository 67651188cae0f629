//! Reports on generated samples.
#![allow(clippy::unwrap_used, reason = "a test ends at its first error")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]
#![allow(clippy::float_cmp, reason = "numbers that must be exact")]
#![allow(clippy::needless_pass_by_value, reason = "json!(…) is passed as it is")]

mod anti_patterns;
mod estimates;
mod input;
mod large;
mod ranking;
mod samples;
mod times;
mod world;
