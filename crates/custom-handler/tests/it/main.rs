//! The protocol as the Functions host sees it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test a panic is a failure; clippy knows only the functions marked as tests"
)]

mod arbitrary_bytes;
mod bodies;
mod documents;
mod early_answers;
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
