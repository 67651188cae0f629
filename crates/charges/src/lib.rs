#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | |
//! | --- | --- |
//! | [`items`] | point writes: create, replace, patch, delete |
//! | [`reads`] | queries, feeds, and pages of both |
//! | [`rates`] | the constants with their sources, and point reads |
//! | [`policy`], [`terms`] | what an indexing policy indexes of an item |
//! | [`sql`] | what the text of a query tells about its work |

pub mod items;
pub mod policy;
pub mod rates;
pub mod reads;
pub mod sql;
pub mod terms;

/// The error of the model: each of the thirty published figures that it is fitted to is within this
/// share of what the model says. Queries over several partitions are the least certain.
pub const ERROR: f64 = 0.25;
