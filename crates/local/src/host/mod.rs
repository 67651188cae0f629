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
//! `docs/local.md` has how it differs from the host. It has no other triggers and bindings, and one instance: a
//! host that starts takes over all leases of its app, and leases do not expire. Their items have the form of the
//! real trigger's, and their owner renews them.

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

pub(crate) use admin::{EndedInvocation, HostEvent, HostedFunction, ManualResult};
pub use app::{BuiltApp, FunctionApp, HostJson};
pub use console::Console;
pub use feed::{FeedError, FeedOptions, FeedPump};
pub use front::Keys;
pub(crate) use function::AuthLevel;
pub use function::{CosmosTrigger, Function, FunctionTrigger, HttpTrigger, TimerTrigger};
pub use invoke::{HttpInvoker, InvocationFailure, InvocationResult, Invoker, RouterInvoker};
pub use json::ConfigError;
pub use process::{HandlerError, HandlerOptions, HandlerProcess, HandlerWatch};
pub use server::{Host, HostOptions};
pub use settings::{Settings, connect};
