//! A world of its own for each test: an empty in-memory account and the app on it.

use std::{path::Path, str::FromStr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, ContainerClient, CosmosClient, DatabaseClient, FeedScope,
    Query,
};
use custom_handler::CustomHandler;
use futures::{TryStreamExt, future::try_join_all};
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary::{
    app::{App, Options},
    config::Settings as AppSettings,
    cosmos::{Cosmos, Limits},
    http::{Authentication, HttpFunction},
    projection::{AnyProjection, BackgroundOptions, DeadLetters, Projections, RETRY_BUDGET},
};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{
        Console, FeedOptions, FeedPump, FunctionApp, Invoker, RouterInvoker, Settings, Trigger,
        wire::{self, Attempt},
    },
};

const DATABASE: &str = World::DATABASE;

/// The app on an empty account, in this process.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) router: Router,
    client: CosmosClient,
    functions: Arc<FunctionApp>,
}

/// An answer of the app.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl World {
    /// The database of all containers.
    pub(crate) const DATABASE: &str = "tributary";

    pub(crate) async fn new() -> Self {
        Self::with_partitions(1).await
    }

    /// A world whose containers have several physical partitions.
    pub(crate) async fn with_partitions(partitions: u32) -> Self {
        Self::with_options(EndpointOptions { partitions, ..EndpointOptions::default() }).await
    }

    /// A world on an endpoint of another kind; nothing expires by itself, requests are listed.
    pub(crate) async fn with_options(options: EndpointOptions) -> Self {
        let options = EndpointOptions { keep_requests: true, expiry_interval: None, ..options };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let containers = ContainersFile::read(root.join("infra/containers.json")).unwrap();
        endpoint.provision(DATABASE, &containers).await.unwrap();
        let functions = Arc::new(functions(&[]));
        let client = endpoint.client().await.unwrap();
        let router = Self::instance(&endpoint).await;
        Self { endpoint, router, client, functions }
    }

    /// Another instance of the app on the same account.
    pub(crate) async fn instance(endpoint: &CosmosEndpoint) -> Router {
        Self::handler(endpoint).await.into_router().unwrap()
    }

    /// The same world, seen through another instance of the app.
    pub(crate) async fn second_instance(&self) -> Self {
        Self { router: Self::instance(&self.endpoint).await, ..self.clone() }
    }

    /// The same world, seen through an instance whose projections try again only for so long.
    pub(crate) async fn with_budget(&self, retry_budget: Duration) -> Self {
        self.with_app(Options { retry_budget, ..Self::options() }).await
    }

    /// The same world, seen through an instance that App Service Authentication is in front of.
    pub(crate) async fn with_easyauth(&self) -> Self {
        let authentication = Authentication::EasyAuth;
        self.with_app(Options { authentication, ..Self::options() }).await
    }

    /// The same world, seen through an instance with other options.
    pub(crate) async fn with_app(&self, options: Options) -> Self {
        let app = app(&Self::cosmos(&self.endpoint).await, options);
        Self { router: app.into_handler().into_router().unwrap(), ..self.clone() }
    }

    /// The same world, seen through an instance each of whose requests has these limits.
    pub(crate) async fn with_limits(&self, limits: Limits) -> Self {
        let mut app = app(&Self::cosmos(&self.endpoint).await, Self::options());
        for function in app.domains.iter_mut().flat_map(|domain| &mut domain.http_functions) {
            function.limits = limits;
        }
        Self { router: app.into_handler().into_router().unwrap(), ..self.clone() }
    }

    /// The same world, seen through an instance with other options and settings.
    pub(crate) async fn with_settings(&self, options: Options, settings: &[(&str, &str)]) -> Self {
        let setting = |name: &str| {
            let found = settings.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let cosmos = Self::cosmos(&self.endpoint).await;
        let app = App::new(&cosmos, options, AppSettings::new(&setting)).unwrap();
        Self { router: app.into_handler().into_router().unwrap(), ..self.clone() }
    }

    /// Runs a timer function as the host does.
    pub(crate) async fn tick(&self, function: &str) -> Result<(), String> {
        let body = json!({"Data": {"timer": {"IsPastDue": false}}, "Metadata": {"sys": {}}});
        let invoker = RouterInvoker(self.router.clone());
        let result = invoker.invoke(function, "an-invocation", body.to_string().into()).await;
        result.map(drop).map_err(|failure| failure.to_string())
    }

    /// The same world, under a host that takes strings that look like dates for dates: an extension
    /// bundle that does not know `dateParseHandling`.
    pub(crate) fn with_host_that_parses_dates(&self) -> Self {
        let functions = Arc::new(functions(&[(
            "AzureFunctionsJobHost__extensions__cosmosDB__serializerSettings__dateParseHandling",
            "DateTime",
        )]));
        Self { functions, ..self.clone() }
    }

    /// What the app does unless a test wants something else. Nobody reads beside a rename here, so
    /// it need not wait.
    pub(crate) fn options() -> Options {
        let background =
            BackgroundOptions { request_units_per_second: None, ..BackgroundOptions::default() };
        Options { background, ..Options::default() }
    }

    /// The names of the triggers that the app serves.
    pub(crate) async fn triggers(&self) -> Vec<String> {
        let handler = Self::handler(&self.endpoint).await;
        handler.trigger_names().into_iter().map(str::to_owned).collect()
    }

    /// The account, as an instance of the app of its own sees it.
    pub(crate) async fn cosmos(endpoint: &CosmosEndpoint) -> Arc<Cosmos> {
        let runtime = endpoint.runtime().await.unwrap();
        Cosmos::new(endpoint.account(), Some(runtime), DATABASE.into())
    }

    async fn handler(endpoint: &CosmosEndpoint) -> CustomHandler {
        app(&Self::cosmos(endpoint).await, Self::options()).into_handler()
    }
}

/// The app without settings of its domains.
pub(crate) fn app(cosmos: &Arc<Cosmos>, options: Options) -> App {
    App::new(cosmos, options, AppSettings::NONE).unwrap()
}

/// All HTTP functions of the app. No store is asked for them.
pub(crate) fn http_functions() -> Vec<HttpFunction> {
    let nowhere = AccountEndpoint::from_str("http://127.0.0.1:1/").unwrap();
    let nowhere = AccountReference::with_authentication_key(nowhere, "a2V5");
    let app = app(&Cosmos::new(nowhere, None, DATABASE.into()), Options::default());
    app.http_functions().cloned().collect()
}

/// The functions of this project, as a host with these settings besides those for a laptop reads
/// them.
fn functions(more: &[(&str, &str)]) -> FunctionApp {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    for (name, value) in more {
        settings.set(*name, *value);
    }
    FunctionApp::load(root, &settings).unwrap()
}

/// HTTP functions.
impl World {
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], None).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.call("PUT", path, &[], Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, &[], Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, &[], None).await
    }

    /// A request with headers of its own.
    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Some(json) => {
                request = request.header("content-type", "application/json");
                Body::from(json.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }

    /// All items of a list, following `nextCursor`.
    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}?limit=100{cursor}")).await.expect(200).json();
            items.extend_from_slice(page["items"].as_array().unwrap());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }
}

/// Triggers.
impl World {
    /// Delivers all changes to all triggers, as the Functions host does, until nothing changes any
    /// more.
    pub(crate) async fn settle(&self) {
        let pumps = self.pumps(&FeedOptions {
            retry_scale: 0.01,
            console: Console::kept(),
            ..FeedOptions::default()
        });
        while try_join_all(pumps.iter().map(FeedPump::drain)).await.unwrap().iter().sum::<usize>()
            > 0
        {}
    }

    /// A pump for each trigger.
    pub(crate) fn pumps(&self, options: &FeedOptions) -> Vec<FeedPump> {
        let functions = self.functions.functions().iter();
        let triggers = functions.filter(|one| matches!(one.trigger, Trigger::Cosmos(_)));
        let pump = |function| {
            let invoker = Arc::new(RouterInvoker(self.router.clone()));
            FeedPump::new(self.client.clone(), function, invoker, options.clone()).unwrap()
        };
        triggers.map(pump).collect()
    }

    /// An instance that serves one projection, which the app need not have.
    pub(crate) async fn instance_of(&self, projection: Arc<dyn AnyProjection>) -> RouterInvoker {
        let letters = DeadLetters::new(&Self::cosmos(&self.endpoint).await);
        let projections = Projections::new(letters, RETRY_BUDGET, vec![projection]);
        RouterInvoker(projections.serve(CustomHandler::new()).into_router().unwrap())
    }

    /// A pump for a projection that the app need not have. It reads what the trigger of `beside`
    /// reads, with leases of its own.
    pub(crate) fn pump_of(
        &self,
        (name, beside): (&str, &str),
        instance: &RouterInvoker,
        options: &FeedOptions,
    ) -> FeedPump {
        let mut function = self.functions.function(beside).unwrap().clone();
        name.clone_into(&mut function.name);
        if let Trigger::Cosmos(trigger) = &mut function.trigger {
            trigger.lease_prefix = format!("{name}-");
        }
        let instance = Arc::new(instance.clone());
        FeedPump::new(self.client.clone(), &function, instance, options.clone()).unwrap()
    }

    /// Delivers these documents to one trigger in one invocation.
    pub(crate) async fn deliver(&self, function: &str, documents: &[Value]) -> Result<(), String> {
        let trigger = self.functions.function(function).unwrap();
        let page = wire::page(trigger, documents).map_err(|exception| exception.to_string())?;
        let body = wire::documents(trigger, &page, &Attempt::default());
        let invoker = RouterInvoker(self.router.clone());
        let result = invoker.invoke(function, "an-invocation", body.into()).await;
        result.map(drop).map_err(|failure| failure.to_string())
    }

    /// Every item of a container in its latest version, in the order of the change feed.
    pub(crate) async fn items(&self, container: &str) -> Vec<Value> {
        let scope = FeedScope::full_container();
        let items = self.container(container).await;
        let items = items.query_items::<Value>(Query::from("SELECT * FROM c"), scope, None);
        items.await.unwrap().try_collect().await.unwrap()
    }

    /// A container, past the app.
    pub(crate) async fn container(&self, container: &str) -> ContainerClient {
        self.database().container_client(container, None).await.unwrap()
    }

    /// The database, past the app.
    pub(crate) fn database(&self) -> DatabaseClient {
        self.client.database_client(DATABASE)
    }
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The answer, if it has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
