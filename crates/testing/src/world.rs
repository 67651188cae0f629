//! A world of its own for each test: an empty in-memory account and the app on it.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
    env, fs,
    marker::PhantomData,
    path::Path,
    process,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use azure_data_cosmos::{ContainerClient, CosmosClient};
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary_functions::{
    app::{App, AppOptions},
    audit::AuditOptions,
    config::Settings as AppSettings,
    cosmos::{Cosmos, Limits},
    http::{Authentication, HttpFunction},
    program::Program,
    projection::{BackgroundOptions, EagerOptions, ProjectionOptions},
};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, StoreRequest},
    host::{
        Console, CosmosTrigger, FeedOptions, FeedPump, Function, FunctionApp, FunctionTrigger,
        Invoker, RouterInvoker, Settings,
        wire::{self, Attempt},
    },
};

use crate::problems::{fields_of, parse_problem};

const DATABASE: &str = "tributary";

/// An app and the folder of its files.
pub trait AppUnderTest: 'static {
    /// The folder with `host.json`, `infra/containers.json` and `local.settings.json.example`.
    const ROOT: &'static str;

    /// Returns the app.
    fn program() -> Program;

    /// The user as which a [`World`] is signed in: the owner of the examples in the OpenAPI document. The default is
    /// none, which does for an app whose caller with a key may act for every user.
    const USER: Option<&'static str> = None;

    /// Returns the headers by which a user signs in. The default is that of App Service Authentication.
    fn sign_in(user: &str) -> Vec<(&'static str, String)> {
        vec![("x-ms-client-principal-id", user.to_owned())]
    }

    /// Checks the body of a refusal of a kind, such as `validation`, and returns the fields that it names, in any
    /// order. The default is a problem document. An error says what is wrong with the body.
    fn read_refusal(answer: &Answer, slug: &str) -> Result<Vec<String>, String> {
        let problem = parse_problem(answer)?;
        let kind = problem["type"].as_str().unwrap_or_default();
        if kind.ends_with(&format!(":problem:{slug}")) {
            Ok(fields_of(&problem))
        } else {
            Err(format!("`type` is {kind} instead of {slug}"))
        }
    }

    /// Returns the status of a refusal of a kind, to which the framework gives `status`.
    fn status_of(_slug: &str, status: u16) -> u16 {
        status
    }
}

/// The app on an empty account, in this process.
pub struct World<A> {
    /// The account.
    pub endpoint: CosmosEndpoint,
    /// The app.
    pub router: Router,
    client: CosmosClient,
    pub(crate) functions: Arc<FunctionApp>,
    /// The headers of the sign-in.
    caller: Vec<(&'static str, String)>,
    settled: Arc<Mutex<Settled>>,
    app: PhantomData<fn() -> A>,
}

/// What was delivered when a world settled.
#[derive(Clone, Default)]
struct Settled {
    /// The leases, as they were left: an operator may have written one since.
    leases: Vec<Value>,
    /// By the name of a trigger, a number of requests: all changes by earlier ones are delivered.
    delivered: BTreeMap<String, usize>,
}

impl<A> Clone for World<A> {
    fn clone(&self) -> Self {
        let Self { endpoint, router, client, functions, caller, settled, app } = self;
        Self {
            endpoint: endpoint.clone(),
            router: router.clone(),
            client: client.clone(),
            functions: Arc::clone(functions),
            caller: caller.clone(),
            settled: Arc::clone(settled),
            app: *app,
        }
    }
}

/// An answer of the app.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl<A: AppUnderTest> World<A> {
    /// The database of all containers.
    pub const DATABASE: &str = DATABASE;

    /// Creates a world whose containers have one physical partition each.
    pub async fn new() -> Self {
        Self::with_partitions(1).await
    }

    /// Creates a world whose containers have several physical partitions. Nothing expires by itself, and the
    /// endpoint keeps its requests.
    pub async fn with_partitions(partitions: u32) -> Self {
        let options = EndpointOptions {
            partitions,
            keep_requests: true,
            expiry_interval: None,
            ..EndpointOptions::default()
        };
        let endpoint = CosmosEndpoint::new(options).unwrap();
        let root = Path::new(A::ROOT);
        let containers = ContainersFile::read(root.join("infra/containers.json")).unwrap();
        endpoint.provision(DATABASE, &containers).await.unwrap();
        Self::on(endpoint).await
    }

    /// Creates a world on an endpoint that has the containers of the app in [`Self::DATABASE`].
    pub async fn on(endpoint: CosmosEndpoint) -> Self {
        let functions = functions::<A>(&[]);
        let client = endpoint.client().await.unwrap();
        let app = Self::app(&Self::cosmos(&endpoint).await, Self::options());
        let caller = A::USER.map(A::sign_in).unwrap_or_default();
        let (settled, app, router) = (Arc::default(), PhantomData, router(app));
        Self { endpoint, router, client, functions, caller, settled, app }
    }

    /// Returns the same world for a caller that is signed in as this user, or as none.
    pub fn as_caller(&self, user: Option<&str>) -> Self {
        Self { caller: user.map(A::sign_in).unwrap_or_default(), ..self.clone() }
    }

    /// Returns the same world, seen through another instance of the app.
    pub async fn second_instance(&self) -> Self {
        self.with_app(Self::options()).await
    }

    /// Returns the same world, seen through an instance whose projections retry for this time only.
    pub async fn with_budget(&self, retry_budget: Duration) -> Self {
        let options = Self::options();
        let projections = ProjectionOptions { retry_budget, ..options.projections };
        self.with_app(AppOptions { projections, ..options }).await
    }

    /// Returns the same world, seen through an instance behind App Service Authentication.
    pub async fn with_easyauth(&self) -> Self {
        let authentication = Authentication::EasyAuth;
        self.with_app(AppOptions { authentication, ..Self::options() }).await
    }

    /// Returns the same world, seen through an instance with other options.
    pub async fn with_app(&self, options: AppOptions) -> Self {
        self.with_settings(options, &[]).await
    }

    /// Returns the same world, seen through an instance each of whose requests has these limits.
    pub async fn with_limits(&self, limits: Limits) -> Self {
        let mut app = Self::app(&Self::cosmos(&self.endpoint).await, Self::options());
        for function in app.domains.iter_mut().flat_map(|domain| &mut domain.http_functions) {
            *function = function.clone().within(limits);
        }
        Self { router: router(app), ..self.clone() }
    }

    /// Returns the same world, seen through an instance with other options and settings.
    pub async fn with_settings(&self, options: AppOptions, settings: &[(&str, &str)]) -> Self {
        let setting = |name: &str| {
            let found = settings.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let cosmos = Self::cosmos(&self.endpoint).await;
        let app = A::program().build(&cosmos, options, AppSettings::new(&setting)).unwrap();
        Self { router: router(app), ..self.clone() }
    }

    /// Runs a timer function as the host does.
    pub async fn tick(&self, function: &str) -> Result<(), String> {
        let body = json!({"Data": {"timer": {"IsPastDue": false}}, "Metadata": {"sys": {}}});
        self.invoke_function(function, body.to_string()).await
    }

    async fn invoke_function(&self, function: &str, body: String) -> Result<(), String> {
        let invoker = RouterInvoker(self.router.clone());
        let result = invoker.invoke(function, "an-invocation", body.into()).await;
        result.map(drop).map_err(|failure| failure.to_string())
    }

    /// Returns the same world, under a host that parses strings that look like dates: its extension
    /// bundle does not know `dateParseHandling`.
    pub fn with_host_that_parses_dates(&self) -> Self {
        let functions = functions::<A>(&[(
            "AzureFunctionsJobHost__extensions__cosmosDB__serializerSettings__dateParseHandling",
            "DateTime",
        )]);
        Self { functions, ..self.clone() }
    }

    /// Returns the options of the app in a test. Its renames have no budget of request units: no reader
    /// competes with them here. Its audits wait for 0.2 s instead of 20: no change is on its way for longer. Its
    /// eager projections have 10 s instead of 0.1, also on a busy machine.
    pub fn options() -> AppOptions {
        let background =
            BackgroundOptions { request_units_per_second: None, ..BackgroundOptions::default() };
        let audit = AuditOptions { settle: Duration::from_millis(200), ..AuditOptions::default() };
        let eager = EagerOptions { time: Duration::from_secs(10), ..EagerOptions::default() };
        let projections = ProjectionOptions { eager, ..ProjectionOptions::default() };
        AppOptions { background, audit, projections, ..AppOptions::default() }
    }

    /// Runs an operation. Returns its outcome, and the store requests that were sent meanwhile.
    pub async fn requests_of<T>(
        &self,
        operation: impl Future<Output = T>,
    ) -> (T, Vec<StoreRequest>) {
        let requests_before = self.endpoint.request_count();
        let outcome = operation.await;
        (outcome, self.endpoint.requests_since(requests_before))
    }

    /// Returns the names of the triggers that the app serves.
    pub async fn triggers(&self) -> Vec<String> {
        let app = Self::app(&Self::cosmos(&self.endpoint).await, Self::options());
        app.into_handler().trigger_names().into_iter().map(str::to_owned).collect()
    }

    /// Opens the account as an instance of its own does, with a session of its own.
    pub async fn cosmos(endpoint: &CosmosEndpoint) -> Arc<Cosmos> {
        let (account, runtime) = endpoint.connect().await.unwrap();
        Cosmos::new(account, Some(runtime), DATABASE.into())
    }

    /// Builds the app without settings of its domains.
    pub fn app(cosmos: &Arc<Cosmos>, options: AppOptions) -> App {
        A::program().build(cosmos, options, AppSettings::NONE).unwrap()
    }

    /// Returns all HTTP functions of the app, without a request to a store.
    pub fn http_functions() -> Vec<HttpFunction> {
        A::program().describe().unwrap().http_functions().cloned().collect()
    }
}

fn router(app: App) -> Router {
    app.into_handler().into_router().unwrap()
}

/// Returns the functions that the app declares, as a host loads them that has these settings besides those of
/// `local.settings.json.example`. They are loaded once in a process.
fn functions<A: AppUnderTest>(more: &'static [(&'static str, &'static str)]) -> Arc<FunctionApp> {
    type Loaded = BTreeMap<(TypeId, &'static [(&'static str, &'static str)]), Arc<FunctionApp>>;
    static LOADED: Mutex<Loaded> = Mutex::new(Loaded::new());
    let mut loaded = LOADED.lock().unwrap();
    let number = loaded.len();
    let app = loaded.entry((TypeId::of::<A>(), more));
    Arc::clone(app.or_insert_with(|| Arc::new(load::<A>(more, number))))
}

fn load<A: AppUnderTest>(more: &[(&str, &str)], number: usize) -> FunctionApp {
    let root = Path::new(A::ROOT);
    let mut settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    settings.set("CosmosDatabase", DATABASE);
    for (name, value) in more {
        settings.set(*name, *value);
    }
    let folder = env::temp_dir().join(format!("tributary-functions-{}-{number}", process::id()));
    for declaration in A::program().describe().unwrap().declarations() {
        let function = folder.join(declaration.name);
        fs::create_dir_all(&function).unwrap();
        fs::write(function.join("function.json"), declaration.function_json().unwrap()).unwrap();
    }
    fs::copy(root.join("host.json"), folder.join("host.json")).unwrap();
    let app = FunctionApp::load(&folder, &settings).unwrap();
    fs::remove_dir_all(folder).unwrap();
    app
}

/// HTTP functions.
impl<A: AppUnderTest> World<A> {
    /// Sends a request to the app.
    pub async fn send(&self, mut request: Request<Body>) -> Answer {
        for (name, value) in &self.caller {
            let value = value.parse().unwrap();
            request.headers_mut().entry(*name).or_insert(value);
        }
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    /// Sends a GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], None).await
    }

    /// Sends a PUT.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call("PUT", path, &[], Some(body)).await
    }

    /// Sends a POST.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, &[], Some(body)).await
    }

    /// Sends a DELETE.
    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, &[], None).await
    }

    /// Sends a request with these headers.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let content_type = body.iter().map(|_| &("content-type", "application/json"));
        for (name, value) in headers.iter().chain(content_type) {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |json| Body::from(json.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    /// Sends a body as it is, under a content type.
    pub async fn send_body(
        &self,
        (method, path): (&str, &str),
        content_type: Option<&str>,
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Sends a request with the invocation id that the host has given it.
    pub async fn invoke(&self, invocation: &str, (method, path): (&str, &str)) -> Answer {
        self.call(method, path, &[("x-azure-functions-invocationid", invocation)], None).await
    }

    /// Returns all items of a list, following `nextCursor`.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        self.list_by(path, 100).await
    }

    /// Returns all items of a list in pages of `limit`, following `nextCursor`.
    pub async fn list_by(&self, path: &str, limit: usize) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}?limit={limit}{cursor}")).await.expect(200).json();
            items.extend_from_slice(page["items"].as_array().unwrap());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }
}

/// Triggers.
impl<A: AppUnderTest> World<A> {
    /// Delivers all changes to all triggers, as the Functions host does, until nothing changes any more. One
    /// trigger follows the other: the changes that one projection writes reach the next in as few batches as
    /// possible, so the store requests do not depend on time. A trigger without changes sends no request.
    pub async fn settle(&self) {
        let options =
            FeedOptions { retry_scale: 0.01, console: Console::kept(), ..FeedOptions::default() };
        // What an operation has sent that was dropped meanwhile arrives before.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let mut settled = self.settled.lock().unwrap().clone();
        if settled.leases != self.leases() {
            settled.delivered.clear();
        }
        loop {
            let mut delivered = 0;
            for (function, trigger) in self.triggers_of_feeds() {
                let n_before = settled.delivered.get(&function.name).copied();
                if self.has_no_news(trigger, n_before) {
                    continue;
                }
                let n_now = self.n_requests_carried_out(&trigger.container, n_before);
                let pump = self.pump(function, &options).unwrap();
                delivered += Box::pin(pump.drain()).await.unwrap();
                settled.delivered.insert(function.name.clone(), n_now);
            }
            if delivered == 0 {
                settled.leases = self.leases();
                *self.settled.lock().unwrap() = settled;
                return;
            }
        }
    }

    fn triggers_of_feeds(&self) -> impl Iterator<Item = (&Function, &CosmosTrigger)> {
        self.functions.functions().iter().filter_map(|function| match &function.trigger {
            FunctionTrigger::Cosmos(trigger) => Some((function, trigger)),
            _ => None,
        })
    }

    /// Returns the leases of all triggers.
    fn leases(&self) -> Vec<Value> {
        let of = |(_, trigger): (_, &CosmosTrigger)| {
            (trigger.lease_database.clone(), trigger.lease_container.clone())
        };
        let containers: BTreeSet<_> = self.triggers_of_feeds().map(of).collect();
        let leases = containers.iter().filter_map(|(db, name)| self.endpoint.items(db, name).ok());
        leases.flatten().collect()
    }

    /// Returns true if nothing was written since a number of requests, or ever where there is none.
    fn has_no_news(&self, trigger: &CosmosTrigger, n_before: Option<usize>) -> bool {
        let container = &trigger.container;
        match n_before {
            Some(n_before) => !self.may_be_written(container, n_before),
            None => {
                trigger.from_beginning
                    && self.endpoint.items(DATABASE, container).is_ok_and(|items| items.is_empty())
            }
        }
    }

    /// Returns the number of requests, or of those before the first write of the container that is under way: a
    /// story may hold it back.
    fn n_requests_carried_out(&self, container: &str, n_before: Option<usize>) -> usize {
        let n_before = n_before.unwrap_or_default();
        let requests = self.endpoint.requests_since(n_before);
        let under_way = requests
            .iter()
            .position(|it| it.answer.is_none() && it.container == container && it.kind.writes());
        n_before + under_way.unwrap_or(requests.len())
    }

    /// Returns true unless the container had only reads since a number of requests.
    pub(crate) fn may_be_written(&self, container: &str, n_before: usize) -> bool {
        let requests = self.endpoint.requests_since(n_before);
        let is_kept = requests.len() == self.endpoint.request_count() - n_before;
        !is_kept || requests.iter().any(|it| it.container == container && it.kind.writes())
    }

    /// Returns a pump for each trigger.
    pub fn pumps(&self, options: &FeedOptions) -> Vec<FeedPump> {
        let functions = self.functions.functions().iter();
        functions.filter_map(|function| self.pump(function, options)).collect()
    }

    fn pump(&self, function: &Function, options: &FeedOptions) -> Option<FeedPump> {
        let invoker = Arc::new(RouterInvoker(self.router.clone()));
        FeedPump::new(self.client.clone(), function, invoker, options.clone()).ok()
    }

    /// Delivers these documents to one trigger in one invocation.
    pub async fn deliver(&self, function: &str, documents: &[Value]) -> Result<(), String> {
        let trigger = self.functions.function(function).unwrap();
        let page = wire::page(trigger, documents).map_err(|exception| exception.to_string())?;
        self.invoke_function(function, wire::documents(trigger, &page, &Attempt::default())).await
    }

    /// Returns every item of a container as it is stored, without a store request.
    #[expect(clippy::unused_async, reason = "a story reads all that is stored in the same way")]
    pub async fn items(&self, container: &str) -> Vec<Value> {
        self.endpoint.items(DATABASE, container).unwrap()
    }

    /// Returns a client of a container, past the app.
    pub async fn container(&self, container: &str) -> ContainerClient {
        self.client.database_client(DATABASE).container_client(container, None).await.unwrap()
    }
}

impl Answer {
    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// Returns the answer if it has this status, and panics otherwise.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// Returns a header; an empty text where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
