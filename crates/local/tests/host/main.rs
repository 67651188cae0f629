//! The stand-in for the Functions host, entered as a function app and its users enter it.

mod support;

mod config;
mod feed;

mod newtonsoft;

mod routes;
mod split;
mod timer;
mod wire;
