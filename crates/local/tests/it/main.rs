//! The stand-in for the Functions host, through its function app and its HTTP port, and the local Cosmos DB
//! endpoint, through the real SDK. The store behind it has tests of its own.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod hosted;
mod support;

mod answers;
mod bodies;
mod command;
mod config;
mod containers_file;
mod data;
mod feed;
mod http;
mod invoke;
mod leases;
mod newtonsoft;
mod process;
mod projects;
mod recorded;
mod repeats;
mod replicas;
mod requests;
mod routes;
mod timer;
