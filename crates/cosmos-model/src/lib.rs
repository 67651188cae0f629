#![doc = include_str!("../README.md")]

pub mod change_feed;
pub mod charges;
pub mod partitioning;
pub mod sql;
