//! All projections of the app, by the names of their functions.

use std::{sync::Arc, time::Duration};

use custom_handler::{CustomHandler, Documents, InvocationId, TraceContext};
use futures::{FutureExt, future::BoxFuture};

use super::{
    DeadLetter, DeadLetters, Projection, ReplayOutcome,
    batch::{self, IncompleteBatch},
    replay::{self, ReplayError},
};
use crate::telemetry;

/// The projections of the app and their dead letters. Cloning is cheap.
#[derive(Clone)]
pub struct Projections {
    letters: DeadLetters,
    budget: Duration,
    all: Vec<Arc<dyn AnyProjection>>,
}

/// A [`Projection`] of any type of change.
pub trait AnyProjection: Send + Sync {
    /// Returns the function's name.
    fn function(&self) -> &'static str;

    /// Returns the id of the container whose change feed is read.
    fn container_id(&self) -> &'static str;

    /// The properties of the items that a dead letter does not keep: [`Projection::SECRETS`].
    fn secrets(&self) -> &'static [&'static str];

    /// Applies a batch of the change feed.
    fn run<'a>(
        &'a self,
        letters: &'a DeadLetters,
        budget: Duration,
        documents: Documents,
        invocation: InvocationId,
    ) -> BoxFuture<'a, Result<custom_handler::InvocationOutcome, IncompleteBatch>>;

    /// Applies the change of a dead letter; the caller deletes or keeps the dead letter.
    fn replay<'a>(
        &'a self,
        letter: &'a DeadLetter,
        invocation: &'a str,
    ) -> BoxFuture<'a, Result<ReplayOutcome, ReplayError>>;
}

impl<P: Projection> AnyProjection for P {
    fn function(&self) -> &'static str {
        P::FUNCTION
    }

    fn container_id(&self) -> &'static str {
        self.container().id()
    }

    fn secrets(&self) -> &'static [&'static str] {
        P::SECRETS
    }

    fn run<'a>(
        &'a self,
        letters: &'a DeadLetters,
        budget: Duration,
        documents: Documents,
        invocation: InvocationId,
    ) -> BoxFuture<'a, Result<custom_handler::InvocationOutcome, IncompleteBatch>> {
        batch::run(self, letters, budget, documents, invocation).boxed()
    }

    fn replay<'a>(
        &'a self,
        letter: &'a DeadLetter,
        invocation: &'a str,
    ) -> BoxFuture<'a, Result<ReplayOutcome, ReplayError>> {
        replay::replay(self, letter, invocation).boxed()
    }
}

impl Projections {
    /// Creates the registry of the app's projections. `budget` is the time for which an invocation retries
    /// transient failures.
    pub fn new(letters: DeadLetters, budget: Duration, all: Vec<Arc<dyn AnyProjection>>) -> Self {
        Self { letters, budget, all }
    }

    /// Adds a trigger for each projection to the handler.
    pub fn serve(&self, app: CustomHandler) -> CustomHandler {
        self.all.iter().fold(app, |app, projection| {
            let (projection, letters) = (Arc::clone(projection), self.letters.clone());
            let budget = self.budget;
            let name = projection.function();
            let run = move |documents: Documents,
                            invocation: InvocationId,
                            host: Option<TraceContext>| {
                let (projection, letters) = (Arc::clone(&projection), letters.clone());
                async move {
                    let work = projection.run(&letters, budget, documents, invocation);
                    telemetry::invocation(name, "datasource", host, work).await
                }
            };
            app.trigger(name, run)
        })
    }

    /// Returns the projection of a function.
    pub fn by_function(&self, name: &str) -> Option<&dyn AnyProjection> {
        self.all.iter().map(AsRef::as_ref).find(|projection| projection.function() == name)
    }

    /// Returns the dead letters of all projections.
    pub fn dead_letters(&self) -> &DeadLetters {
        &self.letters
    }
}
