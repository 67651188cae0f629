//! The protocol as the Functions host sees it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test a panic is a failure; clippy knows only the functions marked as tests"
)]

mod arbitrary_bytes;
mod arguments;
mod early_answers;
mod failures;
mod handlers;
mod http_functions;
mod process;
mod wire;
mod world;
