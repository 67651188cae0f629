//! The running host: the handler, the HTTP functions, the pumps and the timers of one app.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use azure_data_cosmos::CosmosClient;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{select_all, try_join_all};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::app::FunctionApp;
use super::console::Console;
use super::feed::{FeedOptions, FeedPump};
use super::front::{Front, Keys};
use super::function::{CosmosTrigger, FunctionTrigger};
use super::invoke::{
    HandlerClient, HttpInvoker, InvocationFailure, InvocationResult, Invoker, handler_client,
};
use super::process::{HandlerError, HandlerOptions, HandlerProcess, HandlerWatch};
use super::settings::{self, Settings};
use super::timer;
use crate::chaos::{Chaos, ChaosKind};

/// The setting with the most bytes of a request's body, and its default. The host ignores a bad value.
const BODY_LIMIT: &str = "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT";
const DEFAULT_BODY_LIMIT: u64 = 104_857_600;

/// The time in which connections have to end when the host stops. Their handlers have ended before.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running host. Its drop ends everything, the handler included.
pub struct Host {
    url: String,
    port: u16,
    handlers: Vec<HandlerProcess>,
    front: Arc<Front>,
    /// They end with the front's token, after the work under way.
    triggers: JoinSet<()>,
    /// It ends with the front's token, after its connections, or on drop.
    server: AbortOnDropHandle<()>,
}

impl Host {
    /// Starts an app and waits until its handler is ready.
    ///
    /// # Errors
    /// If the port is in use, the handler does not become ready, or a trigger has no account.
    pub async fn start(
        app: FunctionApp,
        settings: &Settings,
        options: HostOptions,
    ) -> anyhow::Result<Self> {
        // The port first: a second `cargo local` should fail before it runs a handler.
        let listener = listen(options.port).await?;
        let address = listener.local_addr()?;
        let clients = clients(&app, settings).await?;
        let has = |kind: ChaosKind| {
            options.chaos.as_ref().is_some_and(|chaos| chaos.spec().probability(kind) > 0.0)
        };
        let n_serving = 1 + usize::from(has(ChaosKind::Overlap));
        let n_handlers = n_serving + usize::from(has(ChaosKind::Stale));
        let executable = options.root.join(&app.host().executable);
        #[cfg(windows)]
        let executable = executable.with_extension("exe");
        let handler = HandlerOptions {
            executable,
            arguments: app.host().arguments.clone(),
            working_directory: options.root.join(&app.host().working_directory),
            settings: settings.clone(),
            launcher: options.launcher.clone(),
            start_timeout: options.start_timeout,
        };
        let handlers: Vec<_> = (0..n_handlers)
            .map(|_| HandlerProcess::start(handler.clone(), options.console.clone()))
            .collect();
        let client = handler_client();
        let timeout = app.host().function_timeout;
        let invoker = |handler: &HandlerProcess| -> Arc<dyn Invoker> {
            let (handler, client) = (handler.watch(), client.clone());
            Arc::new(HandlerInvoker { handler, client, timeout })
        };
        let (serving, apart) = handlers.split_at(n_serving);
        let invokers = TriggerHandlers {
            first: invoker(&serving[0]),
            second: serving.get(1).map(invoker),
            apart: apart.first().map(invoker),
        };
        let body_limit = settings.get(BODY_LIMIT).and_then(|text| text.parse().ok());
        let front = Arc::new(Front {
            app,
            handlers: handlers.iter().map(HandlerProcess::watch).collect(),
            n_serving,
            invoker: invokers.first.clone(),
            client,
            options,
            body_limit: body_limit.unwrap_or(DEFAULT_BODY_LIMIT),
            local: settings.local.clone(),
            instance_id: uuid::Uuid::new_v4().simple().to_string(),
            started: Instant::now(),
            stop: CancellationToken::new(),
        });
        try_join_all(front.handlers.iter().map(HandlerWatch::url)).await?;
        front.warn_of_mismatches().await;
        let triggers = start_triggers(&front, invokers, &clients)?;
        let router = Router::new().fallback(Front::answer).with_state(front.clone());
        let stopped = front.stop.clone().cancelled_owned();
        let server = tokio::spawn(async move {
            // It has no errors of its own.
            let _ = axum::serve(listener, router).with_graceful_shutdown(stopped).await;
        });
        Ok(Self {
            url: format!("http://{address}"),
            port: address.port(),
            handlers,
            front,
            triggers,
            server: AbortOnDropHandle::new(server),
        })
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
        self.front.openapi().await
    }

    /// Waits until a handler has failed for good.
    pub async fn failed(&self) -> HandlerError {
        let failures = self.front.handlers.iter().map(|watch| watch.failed().boxed());
        select_all(failures).await.0
    }

    /// Starts each handler again, after the file of the executable was replaced, and waits until all are
    /// ready. Requests in flight are finished first; requests that arrive meanwhile wait.
    ///
    /// # Errors
    /// When a handler failed for good.
    pub async fn replace_handlers(&self) -> Result<(), HandlerError> {
        try_join_all(self.front.handlers.iter().map(HandlerWatch::replace)).await?;
        self.front.warn_of_mismatches().await;
        Ok(())
    }

    /// Ends everything and leaves no process. Batches in flight are redelivered at the next start.
    pub async fn stop(mut self) {
        self.front.stop.cancel();
        for handler in self.handlers {
            handler.stop().await;
        }
        while self.triggers.join_next().await.is_some() {}
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.server).await;
    }
}

impl Front {
    /// Warns of functions that only the handler has, which the host never calls, or only the app's folder. All
    /// handlers are alike, so one is asked. A handler may not name its functions.
    async fn warn_of_mismatches(&self) {
        let Some(answer) = self.ask("").await else { return };
        let names = answer.headers().get("x-custom-handler-functions");
        let Some(names) = names.and_then(|names| names.to_str().ok()) else { return };
        let served: BTreeSet<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
        let enabled = self.app.functions().iter().map(|function| &function.name);
        let folders: BTreeSet<&str> =
            enabled.chain(self.app.disabled()).map(String::as_str).collect();
        for name in served.difference(&folders) {
            self.options.console.warn(&format!(
                "{name} has no folder: the handler serves it, and the host never calls it. Add \
                 functions/{name}/function.json"
            ));
        }
        for name in folders.difference(&served) {
            self.options.console.warn(&format!(
                "{name} has a folder, and the handler does not serve it: add it to the app, or remove \
                 functions/{name}"
            ));
        }
    }

    /// Asks the handler for the OpenAPI document that one of its functions serves.
    pub(super) async fn openapi(&self) -> Option<Value> {
        let answer = self.ask(self.app.openapi_route()?).await?;
        serde_json::from_slice(&answer.into_body().collect().await.ok()?.to_bytes()).ok()
    }

    async fn ask(&self, path: &str) -> Option<Response> {
        let url = self.handlers.first()?.url().await.ok()?;
        let answer = self.client.get(format!("{url}/{path}").parse().ok()?).await.ok()?;
        Some(answer.map(Body::new))
    }
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow!(
            "the port {port} of 127.0.0.1 is in use: end the program that has it, or give another --port"
        ),
        _ => anyhow!("the port {port} of 127.0.0.1 cannot be opened: {error}"),
    })
}

/// Connects to the accounts of all triggers, by the names of their settings.
async fn clients(
    app: &FunctionApp,
    settings: &Settings,
) -> anyhow::Result<BTreeMap<String, CosmosClient>> {
    let mut clients = BTreeMap::new();
    for function in app.functions() {
        let Some(CosmosTrigger { connection, .. }) = function.cosmos() else { continue };
        if !clients.contains_key(connection) {
            let client = settings::client(settings, connection).await.map_err(|fault| {
                let name = &function.name;
                anyhow!("the setting {connection} of {name} does not lead to a Cosmos DB account: {fault}")
            })?;
            clients.insert(connection.clone(), client);
        }
    }
    Ok(clients)
}

/// The handlers of triggers.
struct TriggerHandlers {
    first: Arc<dyn Invoker>,
    /// The second handler of batches that overlap.
    second: Option<Arc<dyn Invoker>>,
    /// A handler without requests, so that it has no session with their writes.
    apart: Option<Arc<dyn Invoker>>,
}

fn start_triggers(
    front: &Front,
    handlers: TriggerHandlers,
    clients: &BTreeMap<String, CosmosClient>,
) -> anyhow::Result<JoinSet<()>> {
    let TriggerHandlers { first, second, apart } = handlers;
    let options = &front.options;
    let mut tasks = JoinSet::new();
    let mut random = options.chaos.as_ref().map(|chaos| chaos.fork(ChaosKind::Stale));
    for function in front.app.functions() {
        let stop = front.stop.clone();
        match &function.trigger {
            FunctionTrigger::Http(_) => {}
            FunctionTrigger::Cosmos(trigger) => {
                let Some(client) = clients.get(&trigger.connection) else { continue };
                let feed = FeedOptions {
                    poll_delay: options.poll_delay,
                    retry_scale: options.retry_scale,
                    console: options.console.clone(),
                    lease_client: None,
                    chaos: options.chaos.clone(),
                    second_invoker: second.clone(),
                };
                let is_apart = |_: &&Arc<dyn Invoker>| {
                    random.as_mut().is_some_and(|random| random.chance(0.5))
                };
                let invoker = apart.as_ref().filter(is_apart).unwrap_or(&first).clone();
                let pump = FeedPump::new(client.clone(), function, invoker, feed)?;
                tasks.spawn(async move { pump.run(stop).await });
            }
            FunctionTrigger::Timer(timer) => {
                let console = options.console.clone();
                let timer = timer::run(function.clone(), timer.clone(), first.clone(), console);
                tasks.spawn(async move {
                    stop.run_until_cancelled(timer).await;
                });
            }
        }
    }
    Ok(tasks)
}

/// An invoker that finds the handler's present address, and kills it after `functionTimeout`.
struct HandlerInvoker {
    handler: HandlerWatch,
    client: HandlerClient,
    timeout: Option<Duration>,
}

#[async_trait]
impl Invoker for HandlerInvoker {
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult {
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
    /// Names besides those of the loopback interface under which callers may call; `*` answers everyone,
    /// pages of other sites included.
    pub allowed_hosts: Vec<String>,
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
            allowed_hosts: Vec::new(),
            poll_delay: None,
            retry_scale: 1.0,
            start_timeout: Duration::from_secs(30),
            launcher: None,
            console: Console::stderr(),
            chaos: None,
        }
    }
}
