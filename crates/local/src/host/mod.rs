//! A stand-in for the Azure Functions host (version 4) with a custom handler.
//!
//! It reads the same files and speaks the same wire, so an app that runs here meets the same
//! surprises that it would meet in Azure: documents encoded twice and re-written by Newtonsoft, a
//! retry under the same invocation id, a batch lost without a retry policy, a SIGKILL at the end.
//!
//! ```no_run
//! # use tributary_local::host::{FunctionApp, Host, HostOptions, Settings};
//! # async fn example() -> anyhow::Result<()> {
//! let settings = Settings::read("local.settings.json".as_ref())?;
//! let app = FunctionApp::load("target/functionapp-local".as_ref(), &settings)?;
//! let host = Host::start(app, &settings, HostOptions::new("target/functionapp-local")).await?;
//! println!("{}", host.url());
//! host.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! A test without a process gives [`FeedPump`] a [`RouterInvoker`] and calls [`FeedPump::drain`].
//!
//! It models what the host does with `host.json`, `function.json`, settings, keys, requests, change feeds,
//! timers and the handler's process, and replays the recordings of the real host in `tests/recorded/`.
//!
//! # What it does not model
//!
//! - Other triggers and bindings, forwarding (`enableForwardingHttpRequest`), `http.routes`,
//!   extension bundles, upgraded connections, the rest of `/admin`.
//! - Several instances: a host that starts takes over all leases of its app, and leases do not
//!   expire. Lease items have the form of the real trigger's, and their owner renews them.
//! - The local time of a host, `WEBSITE_TIME_ZONE`, a timer's status over restarts, the back-off's jitter.
//! - The order of a document's fields: they come sorted by name.
//! - `functionTimeout` for HTTP functions, whose limit is the 240 s until an answer begins.

mod admin;
mod app;
mod console;
mod disturbance;
mod feed;
mod front;
mod function;
mod invoke;
mod json;
mod lease;
pub mod ncrontab;
pub mod newtonsoft;
mod process;
mod proxy;
mod request_body;
mod request_path;
pub mod routes;
mod server;
mod settings;
mod timer;
pub mod wire;
mod worker;

/// Marks an implementation of [`Invoker`].
pub use async_trait::async_trait;

pub(crate) use admin::{EndedInvocation, HostEvent, HostedFunction, HostedTrigger, ManualResult};
pub use app::{BuiltApp, FunctionApp, HostJson};
pub use console::Console;
pub use feed::{FeedError, FeedOptions, FeedPump};
pub use front::Keys;
pub use function::{
    AuthLevel, CosmosTrigger, FeedStart, Function, FunctionTrigger, HttpTrigger, TimerTrigger,
};
pub use invoke::{HttpInvoker, InvocationFailure, InvocationResult, Invoker, RouterInvoker};
pub use json::ConfigError;
pub use process::{HandlerError, HandlerOptions, HandlerProcess, HandlerWatch};
pub use server::{Host, HostOptions};
pub use settings::{Settings, connect};
