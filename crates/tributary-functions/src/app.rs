//! The whole function app: its domains, the functions of no domain, and the handler that serves them.
//! The functions of a domain stand in its `mod.rs` alone: `functions/` is written from them.

mod declaration;
mod openapi;

use std::sync::{Arc, OnceLock};

use axum::{Extension, Router, http::Method, middleware};
use custom_handler::{CustomHandler, TimerInfo, TraceContext};
use futures::future::join_all;

use serde_json::Value;

pub use self::declaration::{Declaration, Trigger};
use self::openapi::{DOCUMENT_BYTES, OpenApiDocument, get_open_api};
pub use crate::config::AppOptions;
use crate::{
    audit::Audit,
    config::{ConfigError, Settings},
    cosmos::{Container, Cosmos, Limits, Reason, StoreError},
    dead_letters::{delete_dead_letter, get_dead_letter, list_dead_letters, replay_dead_letter},
    domain::{Context, Domain, Timer, bind},
    http::{
        Admission, ApiError, AuthLevel, Authentication, COSTS_ROUTE, CalledFunctions, Consistency,
        Footprint, HttpFunction, SignIn, SignedInBy, WorkQueue, admit, answered, catch_panics,
        consistent, delete, get, post,
    },
    operator::{
        AFTER, FORCE, cancel_rebuild, get_projection, list_costs, list_projections,
        pause_projection, rebuild_projection, release_lease, resume_projection,
    },
    page::{OF_API, OF_APP, PlacedPage, WebPage},
    program::Program,
    projection::{Background, DeadLetter, Projections, lag::measure_lag},
    rebuild::Rebuilds,
    telemetry,
};

#[rustfmt::skip]
fn shared_functions() -> Vec<HttpFunction<Projections>> {
    use AuthLevel::Function;
    let letter  = Footprint::Item(DeadLetter::MAX_RAW_BYTES);
    let letters = Footprint::Page { item: DeadLetter::MAX_SUMMARY_BYTES, limit: 20 };
    let states  = Footprint::Item(16 * 1024);
    let leases  = Footprint::Item(128 * 1024);
    let records = Footprint::Item(1024 * 1024);
    // A replay retries for as long as a trigger does, with pauses.
    let replays = WorkQueue::new(4, 16);
    // It is work of the change feed, such as a slice of a rename.
    let replay  = Limits { store_requests: 10_000, ..Limits::REQUEST };
    vec![
        get("ListDeadLetters",     "/api/dead-letters",                   Function, list_dead_letters).answers(letters),
        get("GetDeadLetter",       "/api/dead-letters/{letterId}",        Function, get_dead_letter).answers(letter),
        post("ReplayDeadLetter",   "/api/dead-letters/{letterId}/replay", Function, replay_dead_letter).answers(letter).within(replay).queued(&replays),
        delete("DeleteDeadLetter", "/api/dead-letters/{letterId}",        Function, delete_dead_letter),
        get("ListProjections",     "/api/projections",                    Function, list_projections).answers(states),
        get("GetProjection",       "/api/projections/{name}",             Function, get_projection).answers(leases),
        post("PauseProjection",    "/api/projections/{name}/pause",       Function, pause_projection).edits(),
        post("ResumeProjection",   "/api/projections/{name}/resume",      Function, resume_projection).edits(),
        post("RebuildProjection",  "/api/projections/{name}/rebuild",     Function, rebuild_projection).edits(),
        post("CancelRebuild",      "/api/projections/{name}/cancel-rebuild", Function, cancel_rebuild).edits(),
        get("ListCosts",           COSTS_ROUTE,                           Function, list_costs).answers(records).reads(&AFTER),
        post("ReleaseLease",       "/api/projections/{name}/leases/{lease}/release", Function, release_lease).edits().reads(&FORCE),
    ]
}

static API_DOCS: PlacedPage = PlacedPage { page: &API_PAGE, place: &OF_API };

/// Its files; the build script takes those of the viewer out of their archive.
static API_PAGE: WebPage = WebPage::new(&[
    ("index.html", include_bytes!("app/docs/index.html")),
    ("docs.css", include_bytes!("app/docs/docs.css")),
    ("docs.js", include_bytes!("app/docs/docs.js")),
    (
        "swagger-ui-bundle.js.gz",
        include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz")),
    ),
    ("swagger-ui.css.gz", include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"))),
]);

/// The function that answers what no other function takes, with a 404 or 405 problem document. The host tries routes
/// in the order of the functions' names, so this name must sort last. It requires a key: the router behind it has all
/// routes.
pub const UNMATCHED_FUNCTION: &str = "ZUnmatchedRoute";

/// The timer that measures the lag of projections and continues rebuilds: one, since each run counts as a second.
pub const MAINTENANCE: &str = "MaintainProjections";

/// The times of its runs, every five minutes. A run each minute would use most of the free grant of a plan
/// (100,000 GB-s a month), though it nearly always finds no change that waits and no rebuild.
const MAINTENANCE_SCHEDULE: &str = "0 */5 * * * *";

const OF_THE_APP: &str = "app";

/// The app on a database. Building it sends nothing to the store.
pub struct App {
    /// The domains.
    pub domains: Vec<Domain>,
    shared: Vec<HttpFunction>,
    openapi: Arc<OpenApiDocument>,
    sign_in: Arc<dyn SignIn>,
    projections: Projections,
    pub(crate) rebuilds: Rebuilds,
    page: Option<PlacedPage>,
    layer: fn(Router) -> Router,
    options: AppOptions,
}

fn functions_without_request(domain: &Domain) -> Vec<&'static str> {
    let projections = domain.projections.iter().map(|projection| projection.function());
    let audit = domain.audit.as_ref().map(|audit| audit.function);
    let timers = domain.timers.iter().map(|timer| timer.function);
    projections.chain(timers).chain(audit).collect()
}

impl App {
    #[expect(clippy::large_types_passed_by_value, reason = "once in the life of the process")]
    pub(crate) fn new(
        program: &Program,
        cosmos: &Arc<Cosmos>,
        options: AppOptions,
        settings: Settings<'_>,
    ) -> Result<Self, ConfigError> {
        let &Program { page, costs, errors, sign_in, layer, .. } = program;
        let background = &Background::new(options.background);
        let clock = options.clock;
        let context = Context { cosmos, background, settings, clock };
        let domains: Vec<Domain> =
            program.domains.iter().map(|build| build(&context)).collect::<Result<_, _>>()?;
        let has_sign_in = sign_in.is_some();
        let authentication = || Ok(Arc::new(options.authentication) as Arc<dyn SignIn>);
        let sign_in = sign_in.map_or_else(authentication, |build| build(&context))?;
        let projections = Projections::new(cosmos, options.projections, &domains)?;
        let rebuilds = Rebuilds::new(&projections, background, options.audit);
        let document = get("GetOpenApi", "/api/openapi.json", AuthLevel::Anonymous, get_open_api);
        let document = document.answers(Footprint::Item(DOCUMENT_BYTES)).without_eager_copies();
        let shared = bind(shared_functions(), &projections);
        let mut shared: Vec<_> =
            shared.into_iter().map(HttpFunction::without_eager_copies).collect();
        let of_domains = domains.iter().flat_map(|domain| {
            domain.http_functions.iter().map(move |function| (domain.name, &function.line))
        });
        let of_the_app = shared.iter().map(|function| &function.line).chain([&document.line]);
        let described = of_domains.chain(of_the_app.map(|line| (OF_THE_APP, line)));
        let maintenance = projections.all().next().map(|_| MAINTENANCE);
        let others = domains.iter().map(|domain| (domain.name, functions_without_request(domain)));
        let others = others.chain([(OF_THE_APP, maintenance.into_iter().collect())]);
        let openapi = Arc::new(OpenApiDocument {
            functions: described.map(|(of, line)| (of, line.clone())).collect(),
            domains: others.collect(),
            costs,
            errors,
            scheme: sign_in.scheme(),
            has_sign_in,
            text: OnceLock::new(),
        });
        shared.push(document.with_state(Arc::clone(&openapi)));
        let page = page.map(|page| PlacedPage { page, place: &OF_APP });
        Ok(Self { domains, shared, openapi, sign_in, projections, rebuilds, page, layer, options })
    }

    /// Returns the OpenAPI 3.1 document of all HTTP functions.
    pub fn openapi(&self) -> Value {
        self.openapi.value()
    }

    /// Returns all HTTP functions, in the order of the tables.
    pub fn http_functions(&self) -> impl Iterator<Item = &HttpFunction> {
        self.domains.iter().flat_map(|domain| &domain.http_functions).chain(&self.shared)
    }

    /// Returns the audits, each with the name of its domain.
    pub fn audits(&self) -> impl Iterator<Item = (&'static str, &Audit)> {
        self.domains.iter().filter_map(|domain| Some((domain.name, domain.audit.as_ref()?)))
    }

    /// Returns the projections.
    pub fn projections(&self) -> &Projections {
        &self.projections
    }

    /// Returns a task that looks the containers of all domains up, beside listening: the first request comes later.
    /// After a failure, each request looks up its container itself.
    pub(crate) fn warm_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let states = self.projections.states.container();
        let of_domains = self.domains.iter().flat_map(|domain| &domain.containers);
        let containers: Vec<Container> = of_domains.chain([states]).cloned().collect();
        async move {
            let results = join_all(containers.iter().map(Container::warm_up)).await;
            let mut unreachable = None;
            for StoreError { reason, .. } in results.into_iter().filter_map(Result::err) {
                match reason {
                    Reason::NoContainer(container) => tracing::error!(container, "{reason}"),
                    reason => unreachable = Some(reason),
                }
            }
            if let Some(reason) = unreachable {
                tracing::warn!(?reason, "The store could not be reached at the start");
            }
        }
    }

    /// Returns all functions with what starts them, by their names.
    pub fn declarations(&self) -> Vec<Declaration> {
        let http = self.http_functions().map(Declaration::from);
        let pages = self.pages().flat_map(PlacedPage::functions).map(|(name, route)| {
            let trigger = Trigger::Http {
                methods: vec![Method::GET, Method::HEAD],
                route,
                auth_level: AuthLevel::Anonymous,
            };
            Declaration { name, trigger }
        });
        let projections = self.domains.iter().flat_map(|domain| {
            let options = domain.feeds;
            domain.projections.iter().map(move |projection| {
                let trigger = Trigger::ChangeFeed { container: projection.container_id(), options };
                Declaration { name: projection.function(), trigger }
            })
        });
        let timers = self.timers().map(|Timer { function, schedule, .. }| Declaration {
            name: function,
            trigger: Trigger::Timer { schedule },
        });
        let all = http.chain(pages).chain(projections).chain(timers).chain([unmatched()]);
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|declaration| declaration.name);
        all
    }

    fn pages(&self) -> impl Iterator<Item = PlacedPage> + use<> {
        [API_DOCS].into_iter().chain(self.page)
    }

    fn timers(&self) -> impl Iterator<Item = Timer> {
        let options = self.options.audit;
        let audits = self.audits().map(move |(_, audit)| {
            let run = move |audit: Audit| async move { audit.run_into_log(options).await };
            let audit = audit.clone();
            Timer::new(audit.function, audit.schedule, move || run(audit.clone()))
        });
        let of_domains = self.domains.iter().flat_map(|domain| domain.timers.iter().cloned());
        let has_projections = self.projections.all().next().is_some();
        let maintenance = has_projections.then(|| {
            let rebuilds = self.rebuilds.clone();
            Timer::new(MAINTENANCE, MAINTENANCE_SCHEDULE, move || maintain(rebuilds.clone()))
        });
        audits.chain(of_domains).chain(maintenance)
    }

    /// Returns the handler of every route and every trigger.
    pub fn into_handler(self) -> CustomHandler {
        let app = self.timers().fold(CustomHandler::new(), serve_timer);
        let app = self.projections.serve(app);
        let routes = self.http_functions().map(|function| (function.name, function.route));
        app.http_functions(
            routes.chain(API_DOCS.functions()).chain([(UNMATCHED_FUNCTION, "/api/{*rest}")]),
        )
        .page_functions(self.page.into_iter().flat_map(|page| page.place.functions))
        .http(self.router())
    }

    fn router(&self) -> Router {
        let functions = self.http_functions();
        let called = functions.map(|function| {
            let is_public = !function.auth_level.needs_key() && !function.signature.is_personal;
            (function.method.clone(), function.route, function.name, is_public)
        });
        let pages = self.pages().flat_map(|PlacedPage { place, .. }| {
            let [index, file] = place.functions;
            [(place.path, index), (place.files, file)]
                .map(|(path, name)| (Method::GET, path, name, true))
        });
        let called: CalledFunctions = called.chain(pages).collect();
        let admission = Admission::new(self.options.admission);
        let has_users =
            self.openapi.has_sign_in || self.options.authentication == Authentication::EasyAuth;
        let captures = self.projections.eager.captures();
        let pages = self.pages().map(PlacedPage::router).fold(Router::new(), Router::merge);
        let router = self
            .http_functions()
            .cloned()
            .fold(pages, |router, function| {
                let route = function.route;
                let turn = (admission.clone(), function.line.clone());
                let turn = middleware::from_fn_with_state(turn, admit);
                // Outside of the admission: a request that waits for a projection has no turn.
                let consistency = Consistency {
                    options: self.options.consistency,
                    projections: self.projections.clone(),
                    copies_of: function.copies_of,
                    limits: function.line.limits,
                    captures: if function.is_eager { captures.clone() } else { <_>::default() },
                };
                let session = middleware::from_fn_with_state(consistency, consistent);
                let mut handler = function.handler.route_layer(turn).route_layer(session);
                // Without users, a key is what lets a caller act for all of them.
                if function.line.auth_level.needs_key() || has_users {
                    handler = handler.route_layer(Extension(SignedInBy(Arc::clone(&self.sign_in))));
                }
                router.route(route, handler)
            })
            .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
            .fallback(async || ApiError::NotFound("route"));
        (self.layer)(router)
            .layer(middleware::from_fn(catch_panics))
            .layer(middleware::from_fn_with_state((called, self.openapi.errors), answered))
    }
}

fn unmatched() -> Declaration {
    let methods = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    let route = "/api/{*path}";
    let auth_level = AuthLevel::Function;
    let trigger = Trigger::Http { methods: methods.into(), route, auth_level };
    Declaration { name: UNMATCHED_FUNCTION, trigger }
}

async fn maintain(rebuilds: Rebuilds) -> Result<(), StoreError> {
    let projections = &rebuilds.projections;
    let states = projections.states.all().await?;
    // A lag that cannot be measured keeps no rebuild from going on.
    let measured = measure_lag(projections, &states).await;
    rebuilds.continue_all(states.into_values()).await;
    measured
}

fn serve_timer(app: CustomHandler, timer: Timer) -> CustomHandler {
    let Timer { function, work, .. } = timer;
    app.trigger(function, move |_: TimerInfo, host: Option<TraceContext>| {
        telemetry::invocation(function, "timer", host, work())
    })
}
