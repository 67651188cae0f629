//! A domain is one value: everything that it adds to the app.
//!
//! To add a domain (`docs/adding-a-function.md` has every file of a small one):
//!
//! 1. A folder in `src/`, say `shop`, whose `mod.rs` has its table of routes and
//!    `pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError>`.
//! 2. A line in [`crate::app::DOMAINS`], and `pub mod shop;` in `lib.rs`.
//! 3. Its containers in `infra/containers.json`, a folder in `functions/` for each function, and its
//!    stories in `tests/it/shop/`.
//!
//! ```ignore
//! /// The shop in a database. Cloning is cheap.
//! #[derive(Clone)]
//! pub struct Shop { products: Container }
//!
//! pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
//!     let shop = Shop { products: context.cosmos.container("product") };
//!     Ok(Domain {
//!         http_functions: bind(http_functions(), &shop),
//!         projections: vec![Arc::new(CategoryNames::new(&shop, &context.background))],
//!         containers: vec![shop.products],
//!         ..Domain::new("shop")
//!     })
//! }
//!
//! fn http_functions() -> Vec<HttpFunction<Shop>> {
//!     vec![get("GetProduct", "/api/products/{productId}", Anonymous, get_product)]
//! }
//! ```
//!
//! Handlers take `State(shop): State<Shop>`. A command takes an [`Actor`](crate::http::Actor), which
//! knows the app's mode of authentication by itself. A domain knows the shared modules and no other
//! domain; no shared module knows a domain. A domain reads its own settings from
//! [`Context::settings`].

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};

use crate::{
    audit::Audit,
    config::{ConfigError, Settings},
    cosmos::{Container, Cosmos, StoreError},
    http::HttpFunction,
    projection::{AnyProjection, Background},
    values::Clock,
};

/// What a domain adds to the app.
pub struct Domain {
    /// The name, which is that of its folder in `src/`.
    pub name: &'static str,
    /// The HTTP functions, with their state.
    pub http_functions: Vec<HttpFunction>,
    /// The projections: a trigger for each, and the replay of its dead letters.
    pub projections: Vec<Arc<dyn AnyProjection>>,
    /// Work that timers start.
    pub timers: Vec<Timer>,
    /// The audit: a timer function, and a part of `tributary audit`.
    pub audit: Option<Audit>,
    /// The containers that the app looks up at its start, so that no request has to.
    pub containers: Vec<Container>,
}

/// Work that a timer starts: a function of the app.
#[derive(Clone)]
pub struct Timer {
    /// The folder in `functions/`.
    pub function: &'static str,
    /// Does the work. It bears to be stopped at any `.await` and run again.
    pub work: Arc<dyn Fn() -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>,
}

impl Timer {
    /// Creates a timer function.
    pub fn new<F>(function: &'static str, work: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        Self { function, work: Arc::new(move || work().boxed()) }
    }
}

/// What a domain is built from.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The database.
    pub cosmos: &'a Arc<Cosmos>,
    /// The budget of the background work, one for all domains.
    pub background: &'a Background,
    /// The settings of the app, for those of the domain.
    pub settings: Settings<'a>,
    /// The clock of a domain that acts by the time.
    pub clock: Clock,
}

/// Builds a domain. It sends nothing to the store.
pub type BuildDomain = fn(&Context<'_>) -> Result<Domain, ConfigError>;

impl Domain {
    /// Creates a domain that adds nothing yet.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            http_functions: Vec::new(),
            projections: Vec::new(),
            timers: Vec::new(),
            audit: None,
            containers: Vec::new(),
        }
    }
}

/// Gives all functions of a table the state that their handlers take.
pub fn bind<S: Clone + Send + Sync + 'static>(
    functions: Vec<HttpFunction<S>>,
    state: &S,
) -> Vec<HttpFunction> {
    functions.into_iter().map(|function| function.with_state(state.clone())).collect()
}
