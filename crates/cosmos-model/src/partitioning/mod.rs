//! Partition keys: the key of an item, and the keys that a query must visit.

// The key functions.
pub mod buckets;
pub mod parts;
pub mod period;

// Strategies as data: the key of a JSON item, and the keys that a filter visits.
pub mod filter;
pub mod key;
pub mod moment;
pub mod path;
pub mod strategy;

pub use filter::{Filter, FilterCondition};
pub use key::{Key, KeyValue};
pub use strategy::{FilterVisit, KeyPart, KeyStrategy};
