//! The running host: the handler, the HTTP functions, the pumps and the timers of one app.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use azure_data_cosmos::CosmosClient;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::app::FunctionApp;
use super::console::Console;
use super::feed::{FeedError, FeedOptions, FeedPump};
use super::front::{Front, HostListener, Keys, serve};
use super::function::{CosmosTrigger, FunctionTrigger};
use super::invoke::{
    HandlerClient, HttpInvoker, InvocationFailure, InvocationResult, Invoker, handler_client,
};
use super::json::ConfigError;
use super::process::{HandlerError, HandlerOptions, HandlerProcess, HandlerWatch};
use super::settings::{self, Settings};
use super::timer;
use crate::chaos::{Chaos, ChaosKind};

/// The time in which connections have to end when the host stops. Their handlers have ended before.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why the host does not run.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The app's files have faults.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another program listens on the port.
    #[error(
        "the port {0} of 127.0.0.1 is in use: end the program that has it, or give another --port"
    )]
    PortInUse(u16),
    /// The port cannot be opened for another reason.
    #[error("the port {0} of 127.0.0.1 cannot be opened: {1}")]
    Port(u16, std::io::Error),
    /// The handler does not run.
    #[error(transparent)]
    Handler(#[from] HandlerError),
    /// A trigger's account cannot be reached.
    #[error("the setting {0} does not lead to a Cosmos DB account: {1}")]
    Connection(String, String),
    /// A pump cannot be created.
    #[error(transparent)]
    Feed(#[from] FeedError),
}

/// A running host. Its drop ends everything, the handler included.
#[derive(Debug)]
pub struct Host {
    url: String,
    port: u16,
    handlers: Vec<HandlerProcess>,
    watches: Vec<HandlerWatch>,
    app: FunctionApp,
    console: Console,
    stop: CancellationToken,
    /// They end at `stop`, after the work under way.
    triggers: JoinSet<()>,
    /// It ends at `stop`, after its connections, or on drop.
    front: AbortOnDropHandle<()>,
}

impl Host {
    /// Starts an app and waits until its handler is ready.
    ///
    /// # Errors
    ///
    /// If the port is in use, the handler does not become ready, or a trigger has no account.
    pub async fn start(
        app: FunctionApp,
        settings: &Settings,
        options: HostOptions,
    ) -> Result<Self, HostError> {
        // The port first: a second `cargo local` should fail before it runs a handler.
        let listener = listen(options.port).await?;
        let address =
            listener.local_addr().map_err(|error| HostError::Port(options.port, error))?;
        let mut clients = BTreeMap::new();
        for (function, trigger) in cosmos_functions(&app) {
            for connection in [&trigger.connection, &trigger.lease_connection] {
                if !clients.contains_key(connection) {
                    let client = settings::client(settings, connection).await.map_err(|text| {
                        HostError::Connection(format!("{connection} of {function}"), text)
                    })?;
                    clients.insert(connection.clone(), client);
                }
            }
        }
        let overlaps = |chaos: &Chaos| chaos.spec().probability(ChaosKind::Overlap) > 0.0;
        let instances = if options.chaos.as_ref().is_some_and(overlaps) { 2 } else { 1 };
        let is_stale = |chaos: &Chaos| chaos.spec().probability(ChaosKind::Stale) > 0.0;
        let apart = usize::from(options.chaos.as_ref().is_some_and(is_stale));
        let handlers: Vec<_> = (0..instances + apart)
            .map(|_| {
                let handler = handler_options(&app, settings, &options);
                HandlerProcess::start(handler, options.console.clone())
            })
            .collect();
        let watches: Vec<_> = handlers.iter().map(HandlerProcess::watch).collect();
        let mut urls = Vec::with_capacity(watches.len());
        for watch in &watches {
            urls.push(watch.url().await?);
        }
        let client = handler_client();
        warn_of_mismatches(&app, &client, &urls, &options.console).await;
        let invoker = |watch: &HandlerWatch| -> Arc<dyn Invoker> {
            Arc::new(HandlerInvoker {
                handler: watch.clone(),
                client: client.clone(),
                timeout: app.host().function_timeout,
            })
        };
        let (serving, apart) = watches.split_at(instances);
        let first = invoker(&serving[0]);
        let invokers = Invokers {
            first: first.clone(),
            second: serving.get(1).map(invoker),
            apart: apart.first().map(invoker),
        };
        let stop = CancellationToken::new();
        let mut triggers = JoinSet::new();
        start_triggers(&app, &clients, &invokers, &options, &stop, &mut triggers)?;
        let console = options.console.clone();
        let front =
            Front::new(app.clone(), serving.to_vec(), client, first, options, stop.clone())?;
        let router = Router::new().fallback(serve).with_state(Arc::new(front));
        let stopped = stop.clone().cancelled_owned();
        let front = tokio::spawn(async move {
            // It has no errors of its own.
            let serving = axum::serve(HostListener(listener), router);
            let _ = serving.with_graceful_shutdown(stopped).await;
        });
        let front = AbortOnDropHandle::new(front);
        let url = format!("http://{address}");
        let port = address.port();
        Ok(Self { url, port, handlers, watches, app, console, stop, triggers, front })
    }

    /// Returns the port of the HTTP functions.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of the HTTP functions: `http://127.0.0.1:7071`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the OpenAPI document that a function of the app serves, if one does.
    pub async fn openapi(&self) -> Option<Value> {
        let url = self.watches.first()?.url().await.ok()?;
        openapi(&handler_client(), &url, &self.app).await
    }

    /// Waits until a handler has failed for good.
    pub async fn failed(&self) -> HandlerError {
        let failures = self.watches.iter().map(|watch| watch.failed().boxed());
        futures::future::select_all(failures).await.0
    }

    /// Waits until all handlers are ready, and for `life` longer, and kills them on purpose; returns
    /// false if one has failed for good.
    pub async fn crash_after(&self, life: Duration) -> bool {
        for watch in &self.watches {
            if watch.url().await.is_err() {
                return false;
            }
        }
        tokio::time::sleep(life).await;
        for watch in &self.watches {
            watch.crash();
        }
        true
    }

    /// Starts each handler again, after the file of the executable was replaced, and waits until all are
    /// ready. Requests in flight are finished first; requests that arrive meanwhile wait.
    ///
    /// # Errors
    /// When a handler failed for good.
    pub async fn replace_handlers(&self) -> Result<(), HandlerError> {
        let mut urls = Vec::with_capacity(self.watches.len());
        for watch in &self.watches {
            urls.push(watch.replace().await?);
        }
        warn_of_mismatches(&self.app, &handler_client(), &urls, &self.console).await;
        Ok(())
    }

    /// Ends everything and leaves no process. Batches in flight are redelivered at the next start.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for handler in self.handlers {
            handler.stop().await;
        }
        while self.triggers.join_next().await.is_some() {}
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.front).await;
    }
}

/// Warns of functions that only the handler has, or only the app's folder. All handlers are alike, so
/// one is asked.
async fn warn_of_mismatches(
    app: &FunctionApp,
    client: &HandlerClient,
    handlers: &[String],
    console: &Console,
) {
    if let Some(url) = handlers.first()
        && let Some(served) = ask(client, url).await
    {
        for mismatch in mismatches(app, &served) {
            console.warn(&mismatch);
        }
    }
}

async fn listen(port: u16) -> Result<TcpListener, HostError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => HostError::PortInUse(port),
        _ => HostError::Port(port, error),
    })
}

fn cosmos_functions(app: &FunctionApp) -> impl Iterator<Item = (&str, &CosmosTrigger)> {
    app.functions().iter().filter_map(|function| match &function.trigger {
        FunctionTrigger::Cosmos(trigger) => Some((function.name.as_str(), trigger)),
        _ => None,
    })
}

fn handler_options(
    app: &FunctionApp,
    settings: &Settings,
    options: &HostOptions,
) -> HandlerOptions {
    let executable = options.root.join(&app.host().executable);
    #[cfg(windows)]
    let executable = executable.with_extension("exe");
    HandlerOptions {
        executable,
        arguments: app.host().arguments.clone(),
        working_directory: options.root.join(&app.host().working_directory),
        settings: settings.clone(),
        launcher: options.launcher.clone(),
        start_timeout: options.start_timeout,
    }
}

/// The handlers that triggers invoke.
struct Invokers {
    first: Arc<dyn Invoker>,
    /// The second handler of batches that overlap.
    second: Option<Arc<dyn Invoker>>,
    /// A handler without requests, so that it has no session with their writes.
    apart: Option<Arc<dyn Invoker>>,
}

fn start_triggers(
    app: &FunctionApp,
    clients: &BTreeMap<String, CosmosClient>,
    invokers: &Invokers,
    options: &HostOptions,
    stop: &CancellationToken,
    tasks: &mut JoinSet<()>,
) -> Result<(), HostError> {
    let mut random = options.chaos.as_ref().map(|chaos| chaos.fork(ChaosKind::Stale));
    for function in app.functions() {
        match &function.trigger {
            FunctionTrigger::Http(_) => {}
            FunctionTrigger::Cosmos(trigger) => {
                let Some(client) = clients.get(&trigger.connection) else {
                    continue;
                };
                let feed = FeedOptions {
                    poll_delay: options.poll_delay,
                    retry_scale: options.retry_scale,
                    console: options.console.clone(),
                    lease_client: clients.get(&trigger.lease_connection).cloned(),
                    chaos: options.chaos.clone(),
                    second_invoker: invokers.second.clone(),
                    ..FeedOptions::default()
                };
                let apart = invokers.apart.as_ref();
                let apart =
                    apart.filter(|_| random.as_mut().is_some_and(|random| random.chance(0.5)));
                let invoker = apart.unwrap_or(&invokers.first).clone();
                let pump = FeedPump::new(client.clone(), function, invoker, feed)?;
                let stop = stop.clone();
                tasks.spawn(async move { pump.run(stop).await });
            }
            FunctionTrigger::Timer(timer) => {
                let function = function.clone();
                let timer = timer.clone();
                let invoker = invokers.first.clone();
                let console = options.console.clone();
                let stop = stop.clone();
                tasks.spawn(async move {
                    let timer = timer::run(function, timer, invoker, console);
                    stop.run_until_cancelled(timer).await;
                });
            }
        }
    }
    Ok(())
}

/// An invoker that finds the handler's present address, and kills it after `functionTimeout`.
struct HandlerInvoker {
    handler: HandlerWatch,
    client: HandlerClient,
    timeout: Option<Duration>,
}

impl Invoker for HandlerInvoker {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            let url = self.handler.url().await;
            let url = url.map_err(|error| InvocationFailure::Unreachable(error.to_string()))?;
            let invoker = HttpInvoker::with_client(url, self.client.clone());
            let invocation = invoker.invoke(function, invocation_id, body);
            let Some(timeout) = self.timeout else {
                return invocation.await;
            };
            tokio::time::timeout(timeout, invocation).await.unwrap_or_else(|_| {
                self.handler.kill();
                Err(InvocationFailure::TimedOut)
            })
        }
        .boxed()
    }
    fn crash(&self) {
        self.handler.crash();
    }
}

/// Options of a host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The base of the handler's executable and working directory.
    pub root: PathBuf,
    /// The port of the HTTP functions on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The keys that callers need; with `None` they need none, as with Core Tools.
    pub keys: Option<Keys>,
    /// The pause after an empty read, instead of every trigger's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The factor of the retry policies' pauses; 1 except for tests.
    pub retry_scale: f64,
    /// The time for the handler's first answer; the host waits 30 s.
    pub start_timeout: Duration,
    /// See [`HandlerOptions::launcher`](super::HandlerOptions::launcher).
    pub launcher: Option<Vec<PathBuf>>,
    /// The console of the host.
    pub console: Console,
    /// Faults of deliveries. If batches overlap, a second handler runs too. If reads are stale, a
    /// further handler serves some of the triggers alone, as each does in Azure.
    pub chaos: Option<Chaos>,
}

impl HostOptions {
    /// Returns the real host's behaviour for the app in `root`, on a free port.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            port: 0,
            keys: None,
            poll_delay: None,
            retry_scale: 1.0,
            start_timeout: Duration::from_secs(30),
            launcher: None,
            console: Console::stderr(),
            chaos: None,
        }
    }
}

/// The header with the names of the functions, separated by commas.
const FUNCTIONS_HEADER: &str = "x-custom-handler-functions";

/// The end of the route of the function that serves the OpenAPI document.
const OPENAPI_FILE: &str = "openapi.json";

/// Asks the handler; returns `None` if its answer lacks the header.
pub(super) async fn ask(client: &HandlerClient, url: &str) -> Option<BTreeSet<String>> {
    let response = client.get(url.parse().ok()?).await.ok()?;
    let names = response.headers().get(FUNCTIONS_HEADER)?.to_str().ok()?;
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Asks the handler for the OpenAPI document that one of its functions serves; returns `None` if it
/// has none.
pub(super) async fn openapi(client: &HandlerClient, url: &str, app: &FunctionApp) -> Option<Value> {
    let mut functions = app.functions().iter();
    let route = functions.find_map(|function| match &function.trigger {
        FunctionTrigger::Http(http) if http.route.ends_with(OPENAPI_FILE) => Some(&http.route),
        _ => None,
    })?;
    let url = format!("{url}/{}", app.host().full_route(route)).parse().ok()?;
    let body = client.get(url).await.ok()?.into_body().collect().await.ok()?;
    serde_json::from_slice(&body.to_bytes()).ok()
}

/// Returns the differences, a sentence each: functions that the host never calls, and functions that
/// the handler does not serve.
pub(super) fn mismatches(app: &FunctionApp, served: &BTreeSet<String>) -> Vec<String> {
    let enabled = app.functions().iter().map(|function| &function.name);
    let folders: BTreeSet<&String> = enabled.chain(app.disabled()).collect();
    let without_folder = served.iter().filter(|name| !folders.contains(name)).map(|name| {
        format!(
            "{name} has no folder: the handler serves it, and the host never calls it. Add \
             functions/{name}/function.json"
        )
    });
    let without_function = folders.iter().filter(|name| !served.contains(**name)).map(|name| {
        format!(
            "{name} has a folder, and the handler does not serve it: add it to the app, or remove \
             functions/{name}"
        )
    });
    without_folder.chain(without_function).collect()
}
