//! All projections of the app, by the names of their functions.

use std::{ops::Deref, sync::Arc, time::Duration};

use custom_handler::{
    CustomHandler, Document, Documents, InvocationId, InvocationOutcome, TraceContext,
};

use super::{
    ChangeFeedItem, DeadLetters, Projection, RETRY_BUDGET,
    batch::{self, BatchSource, ReadBatch},
    catch_up::{CatchUp, CopyFreshness},
    control::{
        FailureLimit, Pause, ProjectionGate, ProjectionStates, STATE_MAX_AGE, pause_after_failures,
    },
    eager::{EagerOptions, EagerProjections},
    leases::{LeaseTerms, ProjectionLeases, STOPPED_AFTER},
};
use crate::{
    audit::Audit,
    config::ConfigError,
    cosmos::{Container, Cosmos, Session, StoreError},
    domain::Domain,
    telemetry,
};

/// The projections of the app, with their dead letters and states. Cloning is cheap.
#[derive(Clone)]
pub struct Projections {
    letters: DeadLetters,
    pub(crate) states: ProjectionStates,
    pub(crate) leases: ProjectionLeases,
    catch_up: CatchUp,
    pub(crate) eager: EagerProjections,
    pub(crate) options: ProjectionOptions,
    all: Vec<Arc<RegisteredProjection>>,
}

pub(super) struct RegisteredProjection {
    pub(super) projection: Arc<dyn AnyProjection>,
    pub(super) gate: ProjectionGate,
    pub(super) is_eager: bool,
    pub(super) poll_delay: Duration,
    lease_expiration: Duration,
    audit: Option<Audit>,
}

impl Deref for RegisteredProjection {
    type Target = dyn AnyProjection;

    fn deref(&self) -> &Self::Target {
        &*self.projection
    }
}

const LEASE_EXPIRATION: Duration = Duration::from_mins(1);

/// Settings of all projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectionOptions {
    /// The time for which an invocation retries transient failures; short in a test.
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

    /// Returns the property that is the partition key of the container.
    fn partition_key(&self) -> &'static str;

    /// The properties of the items that a dead letter does not keep: [`ChangeFeedItem::SECRETS`].
    fn secrets(&self) -> &'static [&'static str];

    /// Reads the documents of a batch.
    fn read(&self, documents: Vec<Document>) -> ReadBatch<'_>;
}

impl<P: Projection> AnyProjection for P {
    fn function(&self) -> &'static str {
        P::FUNCTION
    }

    fn sources(&self) -> &Container {
        self.container()
    }

    fn partition_key(&self) -> &'static str {
        P::Change::PARTITION_KEY
    }

    fn secrets(&self) -> &'static [&'static str] {
        P::Change::SECRETS
    }

    fn read(&self, documents: Vec<Document>) -> ReadBatch<'_> {
        batch::read(self, documents)
    }
}

impl Projections {
    pub(crate) fn new(
        cosmos: &Arc<Cosmos>,
        options: ProjectionOptions,
        domains: &[Domain],
    ) -> Result<Self, ConfigError> {
        let states = ProjectionStates::new(cosmos);
        let leases = ProjectionLeases::new(cosmos);
        let EagerOptions { time, projections: chosen } = options.eager;
        let mut all = Vec::new();
        for domain in domains {
            let Domain { name, projections, eager, .. } = domain;
            let is_unknown = |eager: &&&str| projections.iter().all(|p| p.function() != **eager);
            if let Some(unknown) = eager.iter().find(is_unknown) {
                return Err(ConfigError::new(format!("{unknown} is no projection of {name}.")));
            }
            let eager = chosen.unwrap_or(eager);
            let lease_expiration = domain.feeds.leases.map_or(LEASE_EXPIRATION, |leases| {
                Duration::from_millis(leases.expiration_ms.into())
            });
            all.extend(projections.iter().map(|projection| {
                let function = projection.function();
                Arc::new(RegisteredProjection {
                    projection: Arc::clone(projection),
                    gate: ProjectionGate::new(function, states.clone(), options.state_max_age),
                    is_eager: !time.is_zero() && eager.contains(&function),
                    poll_delay: Duration::from_millis(domain.feeds.poll_delay_ms.into()),
                    lease_expiration,
                    audit: domain.audit.clone(),
                })
            }));
        }
        let eager = all.iter().filter(|registered| registered.is_eager).cloned().collect();
        Ok(Self {
            letters: DeadLetters::new(cosmos),
            states,
            catch_up: CatchUp::new(&leases),
            leases,
            eager: EagerProjections::new(eager, time),
            options,
            all,
        })
    }

    pub(crate) fn serve(&self, app: CustomHandler) -> CustomHandler {
        self.all.iter().fold(app, |app, registered| {
            let name = registered.function();
            let trigger = (self.clone(), Arc::clone(registered));
            let run = move |documents: Documents,
                            invocation: InvocationId,
                            host: Option<TraceContext>| {
                let (projections, registered) = trigger.clone();
                let work =
                    async move { projections.invoke(&registered, documents, invocation).await };
                telemetry::invocation(name, "datasource", host, work)
            };
            app.trigger(name, run)
        })
    }

    async fn invoke(
        &self,
        RegisteredProjection { projection, gate, is_eager, .. }: &RegisteredProjection,
        documents: Documents,
        invocation: InvocationId,
    ) -> Result<InvocationOutcome, String> {
        let function = projection.function();
        let pause = gate.refuses().await.map_err(|StoreError { reason, .. }| {
            format!("the state of the projection cannot be read, and it may be paused: {reason}")
        })?;
        if let Some(Pause { since, .. }) = pause {
            return Ok(InvocationOutcome::refused(format!(
                "{function} is paused since {since}. The host keeps the batch, and invokes {function} again \
                 within a minute after it is resumed."
            )));
        }
        let Self { letters, states, options, .. } = self;
        let source = BatchSource::ChangeFeed { is_second_look: *is_eager };
        let run = projection.run(letters, options.retry_budget, source, documents, invocation);
        let batch = run.await.map_err(|error| error.to_string())?;
        if let Some(limit) = options.failure_limit.filter(|_| batch.dead_letters > 0)
            && let Err(error) = pause_after_failures(states, letters, function, limit).await
        {
            // The batch is applied. The next failure counts anew.
            tracing::warn!(%error, "The failures of the projection were not counted");
        }
        Ok(batch.into())
    }

    /// Returns all projections, in the order of the domains.
    pub fn all(&self) -> impl Iterator<Item = &dyn AnyProjection> {
        self.all.iter().map(|registered| &***registered)
    }

    /// Returns the projection of a function.
    pub fn by_function(&self, name: &str) -> Option<&dyn AnyProjection> {
        self.registered(name).map(Deref::deref)
    }

    fn registered(&self, name: &str) -> Option<&RegisteredProjection> {
        let mut all = self.all.iter().map(AsRef::as_ref);
        all.find(|registered: &&RegisteredProjection| registered.function() == name)
    }

    pub(crate) fn is_eager(&self, name: &str) -> bool {
        self.registered(name).is_some_and(|registered| registered.is_eager)
    }

    pub(crate) fn audit(&self, name: &str) -> Option<&Audit> {
        self.registered(name)?.audit.as_ref()
    }

    pub(crate) fn lease_terms(&self, name: &str) -> LeaseTerms {
        let registered = self.registered(name);
        let expiration = registered.map_or(LEASE_EXPIRATION, |known| known.lease_expiration);
        LeaseTerms { expiration, stopped_after: self.options.stopped_after }
    }

    /// Returns the dead letters of all projections.
    pub fn dead_letters(&self) -> &DeadLetters {
        &self.letters
    }

    /// Each projection of the chain may read what the one before has written. Costs nothing if the session has no
    /// write in their sources; otherwise 1 request unit for each read of a lease, and 2 for a look at the feed.
    pub(crate) async fn wait_for(
        &self,
        chain: &[&'static str],
        session: &Session,
        limit: Duration,
    ) -> CopyFreshness {
        let chain: Vec<_> = chain.iter().filter_map(|name| self.registered(name)).collect();
        telemetry::followed_apart(self.catch_up.wait(&chain, session, limit)).await
    }
}
