//! Functions about the types of values, and conditions.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::json::Json;

use super::{Args, index};

/// Returns whether the argument is defined and of this kind.
#[allow(clippy::unnecessary_wraps, reason = "the type of a function")]
pub(super) fn is(args: &Args<'_>, kind: fn(&Json) -> bool) -> Option<Json> {
    Some(Json::Bool(args.get(0).is_some_and(kind)))
}

pub(super) fn type_of(args: &Args<'_>) -> Option<Json> {
    Some(Json::text(match args.get(0)? {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }))
}

/// `IIF`: anything but true is false.
pub(super) fn iif(args: &Args<'_>) -> Option<Json> {
    let is_true = args.get(0) == Some(&Json::Bool(true));
    args.get(if is_true { 1 } else { 2 }).cloned()
}

/// `CHOOSE`: the first value has the number 1.
pub(super) fn choose(args: &Args<'_>) -> Option<Json> {
    let number = index(args.number(0)?).filter(|number| *number > 0)?;
    args.get(number).cloned()
}

/// `DOCUMENTID`: the number of an item, which is the end of its `_rid`.
pub(super) fn document_id(args: &Args<'_>) -> Option<Json> {
    let rid = STANDARD.decode(args.get(0)?.get("_rid")?.as_str()?).ok()?;
    let number = rid.get(8..16)?.try_into().ok()?;
    Some(super::number(i64::from_le_bytes(number)))
}
