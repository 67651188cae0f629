//! Functions about the types of values.

use crate::json::Json;

use super::Args;

/// Returns whether the argument is defined and of this kind.
#[allow(clippy::unnecessary_wraps, reason = "the type of a function")]
pub(super) fn is(args: &Args<'_>, kind: fn(&Json) -> bool) -> Option<Json> {
    Some(Json::Bool(args.get(0).is_some_and(kind)))
}
