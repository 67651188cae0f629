#![doc = include_str!("../README.md")]

// The key functions: what a key is made of.
pub mod buckets;
pub mod parts;
pub mod period;

// Strategies as data: the key of a JSON item, and the keys that a filter visits.
pub mod filter;
pub mod key;
pub mod moment;
pub mod path;
pub mod presets;
pub mod strategy;

pub use filter::{Condition, Filter};
pub use key::{Key, KeyValue};
pub use strategy::{Classes, KeyStrategy, Part, Visit};
