//! The protocol as the Functions host sees it.

mod arbitrary_bytes;
mod bodies;
mod documents;
mod failures;
mod handlers;
mod http_functions;
mod log_lines;
mod metadata;
mod process;
mod registration;
mod timers;
mod wire;
mod world;
