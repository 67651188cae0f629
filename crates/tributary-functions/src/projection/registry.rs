//! All projections of the app, by the names of their functions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use custom_handler::{
    CustomHandler, Document, Documents, InvocationId, InvocationOutcome, TraceContext,
};
use futures::{FutureExt, future::BoxFuture};

use super::{
    ChangeFeedItem, DeadLetter, DeadLetters, Projection, RETRY_BUDGET, ReplayOutcome,
    apply::{ReplayError, replay},
    batch::{self, AppliedBatch, BatchSource, IncompleteBatch, SourceChange},
    catch_up::{CatchUp, CopyFreshness, MonitoredFeed},
    control::{
        FailureLimit, Pause, ProjectionGate, ProjectionStates, STATE_MAX_AGE, pause_after_failures,
    },
    eager::{EagerOptions, EagerProjection, EagerProjections},
    leases::{LeaseTerms, ProjectionLeases, STOPPED_AFTER},
};
use crate::{
    cosmos::{Container, Cosmos, Session, StoreError},
    telemetry,
};

/// The projections of the app, with their dead letters and states. Cloning is cheap.
#[derive(Clone)]
pub struct Projections {
    letters: DeadLetters,
    states: ProjectionStates,
    leases: ProjectionLeases,
    catch_up: CatchUp,
    eager: EagerProjections,
    options: ProjectionOptions,
    all: Vec<Arc<dyn AnyProjection>>,
    /// The times after which leases expire, by functions, where they are not the host's.
    expirations: HashMap<&'static str, Duration>,
}

/// The time after which a lease expires, unless a trigger says otherwise: the host's default.
const LEASE_EXPIRATION: Duration = Duration::from_mins(1);

/// Settings of all projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectionOptions {
    /// The time for which an invocation retries transient failures. It can be long under a host, and
    /// should be short in a test.
    pub retry_budget: Duration,
    /// The time for which an instance may use the state of a projection that it has read.
    pub state_max_age: Duration,
    /// The number of failures after which a projection pauses itself; none by default.
    pub failure_limit: Option<FailureLimit>,
    /// The wait of a change after which its lease has stopped.
    pub stopped_after: Duration,
    /// The settings of eager projections.
    pub eager: EagerOptions,
}

impl Default for ProjectionOptions {
    fn default() -> Self {
        Self {
            retry_budget: RETRY_BUDGET,
            state_max_age: STATE_MAX_AGE,
            failure_limit: None,
            stopped_after: STOPPED_AFTER,
            eager: EagerOptions::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum InvocationError {
    #[error(transparent)]
    Incomplete(#[from] IncompleteBatch),
    #[error("the state of the projection cannot be read, and it may be paused: {}", .0.reason)]
    UnknownState(StoreError),
}

/// A [`Projection`] of any type of change.
pub trait AnyProjection: Send + Sync {
    /// Returns the function's name.
    fn function(&self) -> &'static str;

    /// Returns the container whose change feed is read.
    fn sources(&self) -> &Container;

    /// Returns its id.
    fn container_id(&self) -> &'static str {
        self.sources().id()
    }

    /// The properties of the items that a dead letter does not keep: [`ChangeFeedItem::SECRETS`].
    fn secrets(&self) -> &'static [&'static str];

    /// Applies a batch of changes.
    fn run<'a>(
        &'a self,
        letters: &'a DeadLetters,
        budget: Duration,
        source: BatchSource,
        documents: Documents,
        invocation: InvocationId,
    ) -> BoxFuture<'a, Result<AppliedBatch, IncompleteBatch>>;

    /// Returns the newest change of each source among the documents, each to be applied once; `None` if one
    /// cannot be read.
    fn changes(&self, documents: Vec<Document>) -> Option<Vec<SourceChange<'_>>>;

    /// Applies the change of a dead letter; the caller deletes or keeps the dead letter.
    fn replay<'a>(
        &'a self,
        letter: &'a DeadLetter,
        invocation: &'a str,
    ) -> BoxFuture<'a, Result<ReplayOutcome, ReplayError>>;
}

struct ProjectionTrigger {
    gate: Arc<ProjectionGate>,
    is_eager: bool,
    projection: Arc<dyn AnyProjection>,
    projections: Projections,
}

impl ProjectionTrigger {
    async fn run(
        &self,
        documents: Documents,
        invocation: InvocationId,
    ) -> Result<InvocationOutcome, InvocationError> {
        let pause = self.gate.refuses().await.map_err(InvocationError::UnknownState)?;
        if let Some(Pause { since, .. }) = pause {
            let function = self.projection.function();
            return Ok(InvocationOutcome::refused(format!(
                "{function} is paused since {since}. The host keeps the batch, and invokes {function} again \
                 within a minute after it is resumed."
            )));
        }
        let Projections { letters, states, options, .. } = &self.projections;
        let source = BatchSource::ChangeFeed { is_second_look: self.is_eager };
        let run = self.projection.run(letters, options.retry_budget, source, documents, invocation);
        let batch = run.await?;
        if let Some(limit) = options.failure_limit.filter(|_| batch.dead_letters > 0) {
            let function = self.projection.function();
            if let Err(error) = pause_after_failures(states, letters, function, limit).await {
                // The batch is applied. The next failure counts anew.
                tracing::warn!(%error, "The failures of the projection were not counted");
            }
        }
        Ok(batch.into())
    }
}

impl<P: Projection> AnyProjection for P {
    fn function(&self) -> &'static str {
        P::FUNCTION
    }

    fn sources(&self) -> &Container {
        self.container()
    }

    fn secrets(&self) -> &'static [&'static str] {
        P::Change::SECRETS
    }

    fn run<'a>(
        &'a self,
        letters: &'a DeadLetters,
        budget: Duration,
        source: BatchSource,
        documents: Documents,
        invocation: InvocationId,
    ) -> BoxFuture<'a, Result<AppliedBatch, IncompleteBatch>> {
        batch::run(self, letters, budget, source, documents, invocation).boxed()
    }

    fn changes(&self, documents: Vec<Document>) -> Option<Vec<SourceChange<'_>>> {
        batch::changes(self, documents)
    }

    fn replay<'a>(
        &'a self,
        letter: &'a DeadLetter,
        invocation: &'a str,
    ) -> BoxFuture<'a, Result<ReplayOutcome, ReplayError>> {
        replay(self, letter, invocation).boxed()
    }
}

impl Projections {
    /// Collects the projections of the app.
    pub fn new(
        cosmos: &Arc<Cosmos>,
        options: ProjectionOptions,
        all: Vec<Arc<dyn AnyProjection>>,
    ) -> Self {
        let letters = DeadLetters::new(cosmos);
        let states = ProjectionStates::new(cosmos);
        let leases = ProjectionLeases::new(cosmos);
        let catch_up = CatchUp::new(&leases);
        let eager = EagerProjections::new(Vec::new(), options.eager.time);
        let expirations = HashMap::new();
        Self { letters, states, leases, catch_up, eager, options, all, expirations }
    }

    pub(crate) fn with_eager(self, functions: &[&str]) -> Self {
        let EagerOptions { time, projections } = self.options.eager;
        let functions = projections.unwrap_or(functions).iter().filter(|_| !time.is_zero());
        let find = |name: &&str| self.all.iter().find(|projection| projection.function() == *name);
        let eager = functions.filter_map(find).map(|projection| {
            let gate = Arc::new(self.gate(projection.function()));
            Arc::new(EagerProjection { gate, projection: Arc::clone(projection) })
        });
        let eager = EagerProjections::new(eager.collect(), time);
        Self { eager, ..self }
    }

    fn gate(&self, function: &'static str) -> ProjectionGate {
        ProjectionGate::new(function, self.states.clone(), self.options.state_max_age)
    }

    /// Returns the projections whose leases expire after these times, by functions, not after a minute.
    pub(crate) fn with_lease_expirations(
        self,
        expirations: impl Iterator<Item = (&'static str, Duration)>,
    ) -> Self {
        Self { expirations: expirations.collect(), ..self }
    }

    pub(crate) fn lease_terms(&self, function: &str) -> LeaseTerms {
        let expiration = self.expirations.get(function).copied().unwrap_or(LEASE_EXPIRATION);
        LeaseTerms { expiration, stopped_after: self.options.stopped_after }
    }

    /// Adds a trigger for each projection to the handler.
    pub fn serve(&self, app: CustomHandler) -> CustomHandler {
        self.all.iter().fold(app, |app, projection| {
            let name = projection.function();
            let eager = self.eager.of(name);
            let gate = eager.map(|eager| Arc::clone(&eager.gate));
            let trigger = Arc::new(ProjectionTrigger {
                gate: gate.unwrap_or_else(|| Arc::new(self.gate(name))),
                is_eager: eager.is_some(),
                projection: Arc::clone(projection),
                projections: self.clone(),
            });
            let run = move |documents: Documents,
                            invocation: InvocationId,
                            host: Option<TraceContext>| {
                let trigger = Arc::clone(&trigger);
                let work = async move { trigger.run(documents, invocation).await };
                telemetry::invocation(name, "datasource", host, work)
            };
            app.trigger(name, run)
        })
    }

    /// Returns all projections, in the order of the domains.
    pub fn all(&self) -> impl Iterator<Item = &dyn AnyProjection> {
        self.all.iter().map(AsRef::as_ref)
    }

    /// Returns the projection of a function.
    pub fn by_function(&self, name: &str) -> Option<&dyn AnyProjection> {
        self.all().find(|projection| projection.function() == name)
    }

    /// Returns the dead letters of all projections.
    pub fn dead_letters(&self) -> &DeadLetters {
        &self.letters
    }

    pub(crate) fn eager(&self) -> &EagerProjections {
        &self.eager
    }

    pub(crate) fn options(&self) -> &ProjectionOptions {
        &self.options
    }

    /// Waits for at most `limit` until the projections of a chain, each of which may read what the one before
    /// has written, have applied the writes of a caller's session. Costs nothing when the session has no
    /// write in their sources, or one whose effect this instance has seen; otherwise 1 request unit for each
    /// look, and 3 for the first.
    pub(crate) async fn wait_for(
        &self,
        chain: &[&'static str],
        session: &Session,
        limit: Duration,
    ) -> CopyFreshness {
        let found = chain.iter().filter_map(|name| self.by_function(name));
        let feeds = found.map(|projection| MonitoredFeed {
            function: projection.function(),
            monitored: projection.sources(),
            is_eager: self.eager.of(projection.function()).is_some(),
        });
        let chain: Vec<_> = feeds.collect();
        telemetry::followed_apart(self.catch_up.wait(&chain, session, limit)).await
    }

    pub(crate) fn leases(&self) -> &ProjectionLeases {
        &self.leases
    }

    pub(crate) fn states(&self) -> &ProjectionStates {
        &self.states
    }
}
