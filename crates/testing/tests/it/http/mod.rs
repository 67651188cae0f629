//! The promises of the framework for every function over HTTP.

mod access;
mod admission;
pub(crate) mod bodies;
mod caches;
mod consistency;
mod copies;
mod faults;
mod foreign;
mod lists;
mod openapi;
mod paging;
mod problems;
mod repeats;
mod secrets;
mod stale_replicas;
