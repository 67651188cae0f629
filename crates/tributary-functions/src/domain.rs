//! A domain is one value: everything that it adds to the app.
//!
//! To add a domain (`docs/app/adding-a-function.md` names the files):
//!
//! 1. A module or a crate, say `rooms`, with its table of routes and
//!    `pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError>`.
//! 2. A line in the app's [`Program`](crate::program::Program).
//! 3. Its containers in `infra/containers.json`, and its stories.
//! 4. The command `functions` of the app writes a folder in `functions/` for each function.
//!
//! Handlers take `State(rooms): State<Rooms>`, and commands an [`Actor`](crate::http::Actor). A domain knows the
//! framework and no other domain, and reads its settings from [`Context::settings`].

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};

use crate::{
    audit::Audit,
    config::{ConfigError, Settings},
    cosmos::{Container, Cosmos, StoreError},
    http::{HttpFunction, SignIn},
    projection::{AnyProjection, Background},
    values::Clock,
};

/// The parts that a domain adds to the app.
#[derive(Default)]
pub struct Domain {
    /// The name, which is that of its module or crate.
    pub name: &'static str,
    /// The HTTP functions, with their state.
    pub http_functions: Vec<HttpFunction>,
    /// The projections: a trigger for each, and the replay of its dead letters.
    pub projections: Vec<Arc<dyn AnyProjection>>,
    /// The projections that the instance of a command applies, too, before it answers; none by default.
    pub eager: Vec<&'static str>,
    /// The settings of the projections' triggers.
    pub feeds: FeedOptions,
    /// Work that timers start.
    pub timers: Vec<Timer>,
    /// The audit: a timer function, and a part of the command `audit`.
    pub audit: Option<Audit>,
    /// The containers that the app looks up at its start, so that no request has to.
    pub containers: Vec<Container>,
    /// The filters of queries that no index serves, each as a container and a property: the store evaluates them on
    /// few items. The checks of `tributary-testing` hold all others against `infra/containers.json`.
    pub unindexed_filters: Vec<(&'static str, &'static str)>,
}

/// Settings of the triggers of a domain: numbers, since the Functions host resolves app settings only in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedOptions {
    /// The pause after a read without changes. A longer one costs less and delays copies.
    pub poll_delay_ms: u32,
    /// The most changes of a batch.
    pub max_batch_items: u32,
    /// The intervals of leases; without them those of the host.
    pub leases: Option<LeaseIntervals>,
}

/// The intervals of leases. Shorter ones move the leases of a crashed instance sooner, and cost more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseIntervals {
    /// The time after which a lease expires that is not renewed.
    pub expiration_ms: u32,
    /// The pause between renewals of a lease.
    pub renew_ms: u32,
    /// The pause between searches for leases that have expired.
    pub acquire_ms: u32,
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self { poll_delay_ms: 1_000, max_batch_items: 100, leases: None }
    }
}

/// Work that a timer starts: a function of the app.
#[derive(Clone)]
pub struct Timer {
    /// The folder in `functions/`.
    pub function: &'static str,
    /// The schedule, as an NCRONTAB expression: `0 */15 * * * *`.
    pub schedule: &'static str,
    /// The work. It may be stopped at any `.await` and run again.
    pub work: Arc<dyn Fn() -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>,
}

impl Timer {
    /// Creates a timer function.
    pub fn new<F>(
        function: &'static str,
        schedule: &'static str,
        work: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        Self { function, schedule, work: Arc::new(move || work().boxed()) }
    }
}

/// The values from which a domain is built.
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

pub(crate) type BuildDomain = fn(&Context<'_>) -> Result<Domain, ConfigError>;

pub(crate) type BuildSignIn = fn(&Context<'_>) -> Result<Arc<dyn SignIn>, ConfigError>;

impl Domain {
    /// Creates a domain that adds nothing yet.
    pub fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the domain with the parts of another, checks of the audit included. It keeps its name and the settings
    /// of its triggers.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.http_functions.extend(other.http_functions);
        self.projections.extend(other.projections);
        self.eager.extend(other.eager);
        self.timers.extend(other.timers);
        self.audit = match (self.audit, other.audit) {
            (Some(audit), Some(other)) => Some(audit.and_audit(other)),
            (audit, other) => audit.or(other),
        };
        self.containers.extend(other.containers);
        self.unindexed_filters.extend(other.unindexed_filters);
        self
    }
}

/// Binds the state that the handlers take to all functions of a table.
pub fn bind<S: Clone + Send + Sync + 'static>(
    functions: Vec<HttpFunction<S>>,
    state: &S,
) -> Vec<HttpFunction> {
    functions.into_iter().map(|function| function.with_state(state.clone())).collect()
}
