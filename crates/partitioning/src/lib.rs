#![doc = include_str!("../README.md")]

pub mod parts;
pub mod period;
