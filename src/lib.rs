//! Tributary: a serverless back end on Azure Functions and Azure Cosmos DB.
//!
//! Commands and queries come in over HTTP; the change feed of Cosmos DB carries every change on to
//! the copies that are made for reading. Read the modules in this order:
//!
//! - [`app`]: the whole function app: its domains, and how they are served;
//! - [`domain`]: what a domain is, and how to add one;
//! - [`blog`], [`webstore`], [`news`]: the domains, one file for each operation;
//! - [`engines`]: what the commands and lists of every domain share;
//! - [`projection`]: how a change becomes a copy;
//! - [`audit`]: how everything that is stored twice is compared and repaired;
//! - [`dead_letters`]: what an operator does with changes that cannot;
//! - [`cosmos`], [`http`]: what all domains share;
//! - [`telemetry`]: what is logged, traced and measured;
//! - [`values`], [`config`]: the small things.

pub mod app;
pub mod domain;

pub mod blog;
pub mod news;
pub mod webstore;

pub mod dead_letters;

pub mod audit;
pub mod engines;
pub mod projection;

pub mod cosmos;
pub mod http;

pub mod config;
pub mod telemetry;
pub mod values;
