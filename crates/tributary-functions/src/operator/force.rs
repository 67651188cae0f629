//! The parameter `force` of the operators' requests.

use crate::http::{ApiError, parameter_of};

/// Reads `force`, which is false by default; any text but `true` and `false` is a 400.
pub(super) fn is_forced(query: Option<&str>) -> Result<bool, ApiError> {
    match parameter_of(query, "force")?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(ApiError::invalid("force", "must be true or false")),
    }
}
