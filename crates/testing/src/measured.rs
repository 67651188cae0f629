//! Measured figures in files, which tests compare or write.

use std::env;

/// Request units and dollars are written to the hundredth.
pub(crate) const TOLERANCE: f64 = 0.015;

/// The environment variable with which figures are written instead of compared.
pub(crate) const UPDATE: &str = "UPDATE_BUDGETS";

/// Returns true if figures are written instead of compared.
pub(crate) fn updates() -> bool {
    env::var_os(UPDATE).is_some_and(|update| update == "1")
}
