#![doc = include_str!("../README.md")]

pub use tributary_functions;
