//! A stand-in for the Azure Functions host (version 4) with a custom handler.

mod admin;
mod app;
mod connection;
mod console;
mod duration;
mod feed;
mod function;
mod invoke;
mod json;
mod keys;
mod lease;
pub mod ncrontab;
pub mod newtonsoft;
mod process;
mod proxy;
pub mod routes;
mod server;
mod settings;
mod timer;
pub mod wire;

pub use app::{FunctionApp, HostJson};
pub use connection::connect;
pub use console::Console;
pub use feed::{FeedError, FeedOptions, FeedPump};
pub use function::{
    AuthLevel, CosmosTrigger, FeedStart, Function, HttpTrigger, RetryPolicy, TimerTrigger, Trigger,
};
pub use invoke::{HttpInvoker, InvocationResult, Invoker, RouterInvoker};
pub use json::ConfigError;
pub use keys::Keys;
pub use lease::LeaseItem;
pub use process::{HandlerError, HandlerOptions, HandlerProcess, HandlerState, HandlerWatch};
pub use server::{Host, HostError, HostOptions};
pub use settings::Settings;
