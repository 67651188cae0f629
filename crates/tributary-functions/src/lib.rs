#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! Read the modules in this order:
//!
//! - [`program`]: the executable: its name, its domains, its command line;
//! - [`domain`]: the parts of a domain, and the steps to add one;
//! - [`app`]: all domains as one handler;
//! - [`engines`]: the shared parts of the commands and lists of every domain;
//! - [`projection`]: the updates of copies from the change feed;
//! - [`audit`]: the comparison and repair of values that are stored more than once;
//! - `dead_letters`: the functions for changes that could not be applied;
//! - `operator`: the functions and the command for the states of projections;
//! - [`page`]: a web page of the app;
//! - [`cosmos`], [`http`]: the store, and the functions;
//! - [`telemetry`]: logs, traces and metrics;
//! - [`values`], [`config`], [`brand`]: values, settings, and the name of the app;
//! - [`prelude`]: the names that most files of a domain use.

pub mod prelude;

pub mod program;

pub mod app;
pub mod domain;

mod dead_letters;
mod operator;
pub mod page;
mod rebuild;

pub mod audit;
pub mod engines;
pub mod projection;

pub mod cosmos;
pub mod http;

pub mod brand;
pub mod config;
pub mod telemetry;
pub mod values;

mod terminal;
