//! What requests to Azure Cosmos DB cost, in request units: an estimate by pure functions of what a
//! request does. The local endpoint charges by it, and the partition-key advisor estimates by it.
//!
//! | module | |
//! | --- | --- |
//! | [`items`] | point writes: create, replace, patch, delete |
//! | [`reads`] | queries, feeds, and pages of both |
//! | [`rates`] | the constants with their sources, and point reads |
//! | [`policy`], [`terms`] | what an indexing policy indexes of an item |
//! | [`sql`] | what the text of a query tells about its work |
//!
//! `docs/local-endpoint.md` has the error of each figure and what is left out.

#[cfg(test)]
mod figures;
pub mod items;
pub mod policy;
pub mod rates;
pub mod reads;
pub mod sql;
pub mod terms;

/// The error of the model: each of the thirty published figures that it is fitted to is within this
/// share of what the model says. Queries over several partitions are the least certain.
pub const ERROR: f64 = 0.25;
