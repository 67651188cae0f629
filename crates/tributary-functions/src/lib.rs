#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! Read the modules in this order:
//!
//! - [`program`]: the executable: its name, its domains, its command line;
//! - [`domain`]: what a domain is, and how to add one;
//! - [`app`]: all domains together, and how they are served;
//! - [`engines`]: what the commands and lists of every domain share;
//! - [`projection`]: how a change becomes a copy;
//! - [`audit`]: how everything that is stored twice is compared and repaired;
//! - [`dead_letters`]: what an operator does with changes that cannot;
//! - [`cosmos`], [`http`]: the store, and the functions;
//! - [`telemetry`]: what is logged, traced and measured;
//! - [`values`], [`config`], [`brand`]: the small things.

pub mod program;

pub mod app;
pub mod domain;

pub mod dead_letters;

pub mod audit;
pub mod engines;
pub mod projection;

pub mod cosmos;
pub mod http;

pub mod brand;
pub mod config;
pub mod telemetry;
pub mod values;
