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
//! # What it models
//!
//! - `host.json`: the custom handler's description, `routePrefix`, `functionTimeout`,
//!   `dateParseHandling` of the Cosmos DB extension, and their overrides by
//!   `AzureFunctionsJobHost__…` settings.
//! - `function.json`: `httpTrigger` with route templates, methods and keys; `cosmosDBTrigger` of
//!   the extension's version 4; `timerTrigger`; `retry`; `disabled`; `%Setting%` expressions.
//! - The handler's process: its settings and port, readiness, restarts on the same port, the end
//!   after three errors, the kill after `functionTimeout` of a trigger's invocation.
//! - Requests handed through (`enableProxyingHttpRequest`), bodies streamed both ways: paths decoded
//!   and encoded again, headers set and overwritten, requests repeated when a connection breaks,
//!   failures as 500 with an empty body. A test replays 70 recorded requests.
//! - Requests that the host refuses itself: without one valid `Host`, with raw bytes beyond ASCII in
//!   the target, with an escaped NUL, with a long line.
//! - The page at `/`, keys, functions that are turned off, `/admin/host/status`.
//! - The change feed for each physical partition through lease items, with splits; texts and numbers
//!   as Newtonsoft rewrites them, and a page that it cannot read and that is read again for ever.
//! - `POST /admin/functions/<name>`.
//!
//! # What it does not model
//!
//! - Other triggers and bindings, forwarding (`enableForwardingHttpRequest`), `http.routes`,
//!   extension bundles, CORS, the limits of bodies and headers, the rest of `/admin`.
//! - Several instances: a host that starts takes over all leases of its app, and leases do not
//!   expire. Lease items have the form of the real trigger's, and their owner renews them.
//! - The local time of a host: times are written as on a host in UTC, as in Azure.
//! - A timer's status over restarts, `WEBSITE_TIME_ZONE`.
//! - The order of a document's fields: they come sorted by name.
//! - `functionTimeout` for HTTP functions, whose limit is the 240 s until an answer begins.
//! - The back-off's jitter.

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
mod request_path;
pub mod routes;
mod server;
mod settings;
mod timer;
pub mod wire;
mod worker;

pub use admin::{EndedInvocation, HostEvent, HostedFunction, HostedTrigger, ManualResult};
pub use app::{BuiltApp, BuiltAppError, FunctionApp, HostJson};
pub use console::{Console, TaskProgress};
pub use feed::{FeedError, FeedOptions, FeedPump};
pub use front::Keys;
pub use function::{
    AuthLevel, CosmosTrigger, FeedStart, Function, FunctionTrigger, HttpTrigger, LastBatch,
    RetryPolicy, TimerTrigger,
};
pub use invoke::{HttpInvoker, InvocationFailure, InvocationResult, Invoker, RouterInvoker};
pub use json::ConfigError;
pub use process::{HandlerError, HandlerOptions, HandlerProcess, HandlerState, HandlerWatch};
pub use proxy::repeating;
pub use server::{Host, HostError, HostOptions};
pub use settings::{Settings, connect};
