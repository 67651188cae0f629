//! Estimates of the request units of a request.
//!
//! | module | |
//! | --- | --- |
//! | [`items`] | point writes: create, replace, patch, delete |
//! | [`reads`] | queries, feeds, and pages of both |
//! | [`rates`] | the constants with their sources, and point reads |
//! | [`policy`], [`terms`] | the index terms of an item by an indexing policy |
//! | [`sql`] | the work of a query by its text |

pub mod items;
pub mod policy;
pub mod rates;
pub mod reads;
pub mod sql;
pub mod terms;

/// The largest error of the model: each of the thirty published figures to which it is fitted is within this
/// share of the model's. Queries over several partitions are the least certain.
pub const MAX_MODEL_ERROR: f64 = 0.25;
