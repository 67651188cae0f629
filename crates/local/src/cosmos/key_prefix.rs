//! Requests for a prefix of a hierarchical partition key.
//!
//! They read all items whose key begins with these values. The emulator takes such a prefix for no key at all,
//! and reads the container. It does know ranges of hashed keys, which other SDKs send in place of the prefix.

use std::borrow::Cow;

use azure_core::http::Request;
use azure_data_cosmos::PartitionKey;
use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::models::{EffectivePartitionKey, PartitionKeyDefinition};
use azure_data_cosmos_driver::models::PartitionKeyValue;
use serde_json::Value;

use super::operation::{PARTITION_KEY, header};
use super::slices::{KEY_TYPE, RANGE_END, RANGE_START};

/// Lets a request with fewer values than the key has `paths` ask for the range of its prefix, within the range
/// that it names already. The emulator refuses a malformed key.
pub(super) fn narrow(request: &mut Request, paths: &[String]) {
    let Some(prefix) = prefix(request, paths.len()) else { return };
    let paths = paths.iter().cloned().map(Cow::Owned).collect();
    let range = FeedRange::for_partition(prefix, &PartitionKeyDefinition::new(paths));
    let given = |name| EffectivePartitionKey::try_from(header(request, &name)?).ok();
    let start = given(RANGE_START).into_iter().chain([range.min_inclusive().clone()]).max();
    let end = given(RANGE_END).into_iter().chain([range.max_exclusive().clone()]).min();
    request.insert_header(KEY_TYPE, "EffectivePartitionKeyRange");
    for (name, bound) in [(RANGE_START, start), (RANGE_END, end)] {
        request.insert_header(name, bound.map(|bound| bound.to_hex()).unwrap_or_default());
    }
}

fn prefix(request: &Request, n_levels: usize) -> Option<PartitionKey> {
    let values: Vec<Value> = serde_json::from_str(header(request, &PARTITION_KEY)?).ok()?;
    if values.is_empty() || values.len() >= n_levels {
        return None;
    }
    let values: Option<Vec<_>> = values.into_iter().map(key_value).collect();
    values?.try_into().ok()
}

fn key_value(value: Value) -> Option<PartitionKeyValue> {
    match value {
        Value::Null => Some(PartitionKey::NULL),
        Value::Bool(value) => Some(value.into()),
        Value::Number(number) => number.as_f64()?.try_into().ok(),
        Value::String(text) => Some(text.into()),
        // A property that the item does not have.
        Value::Object(none) if none.is_empty() => Some(PartitionKey::UNDEFINED),
        Value::Array(_) | Value::Object(_) => None,
    }
}
