#![doc = include_str!("../README.md")]

pub mod figures;
pub mod html;
mod percentiles;
mod table;

pub use percentiles::{Sorted, mean, slope};
pub use table::{Table, escape};
