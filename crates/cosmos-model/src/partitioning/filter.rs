//! Filters: the conditions of a query on the properties of items.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::partitioning::{key::KeyValue, path::PropertyPath};

/// Conditions on properties; an item must meet all.
///
/// In JSON, each path has a value, a list of values, or a range:
/// `{"/tenantId": "contoso", "/status": ["new", "paid"], "/date": {"from": "2026-10-01", "to": "2026-11-22"}}`.
pub type Filter = BTreeMap<PropertyPath, FilterCondition>;

/// A condition on one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a condition is a value, a list of values, or {\"from\": …, \"to\": …}"
)]
pub enum FilterCondition {
    // Before the range: serde would read a list of two as the fields of a struct.
    /// One of these values.
    OneOf(Vec<KeyValue>),
    /// At least `from` and less than `to`. A missing bound does not limit.
    Range(ValueRange),
    /// This value.
    Equals(KeyValue),
}

/// The bounds of a [`FilterCondition::Range`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueRange {
    /// The least value, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<KeyValue>,
    /// The end, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<KeyValue>,
}
