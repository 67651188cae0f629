//! The stand-in for the Functions host, through its function app and its HTTP port.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod support;

mod command;
mod config;
mod data;
mod feed;
mod http;
mod invoke;
mod leases;
mod newtonsoft;
mod process;
mod projects;
mod recorded;
mod recorded_bodies;
mod recorded_http;
mod recorder;
mod repeats;
mod routes;
mod timer;
