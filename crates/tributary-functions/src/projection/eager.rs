//! Eager projections: the instance of a command applies the command's own change to the copies, right after
//! the commit and before the answer.
//!
//! # How a domain uses it
//!
//! A domain names its eager projections ([`Domain::eager`](crate::domain::Domain::eager)). A command that its
//! callers never look up in copies says so
//! ([`without_eager_copies`](crate::http::HttpFunction::without_eager_copies)). Only a projection whose work
//! for a change is small gains from it: a time limit ends the others, and the change feed does their work.
//!
//! # Why a change may be applied early
//!
//! A delivery may come at any time, any number of times, at several instances, and end in the middle
//! ([`projection`](super)). An eager application is one more delivery: of a document that was committed, before
//! that of the change feed. It acknowledges nothing. So an application that fails, that is cut off by its time
//! limit or dropped with its request, or that never begins, is as a delivery that crashed: the change feed
//! delivers the change, with retries and dead letters, which are its own. A paused projection, or one whose
//! state cannot be read, applies nothing eagerly.
//!
//! Only what is known to be committed is applied: documents of writes that were answered. A document that is
//! applied and then lost would leave a copy of nothing.
//!
//! # Why the second look may be left out
//!
//! The change feed delivers an applied change again. The instance that has applied it remembers that
//! ([`AppliedChanges`]), and acknowledges a delivery of this version, or of an older one, without a store
//! request. *Given*: version `n` of a source was applied completely: each of its copies had `n` or a newer
//! version then. *Claim*: to apply `n`, or an older version, would write nothing. By the rules of
//! [`projection`](super) the version of a copy never falls. So each copy has `n` or a newer version still, and
//! both leave it alone.
//!
//! - *A copy that an operator has deleted* is created again by the audit, by a rebuild, or by the next version.
//!   A rebuild, a rewind and a replay look at the store each time: they do not ask this memory.
//! - *A window*: a source that it did not admit is admitted only by a refill, which reads the source after it
//!   was committed, and so in `n` or a newer version. A due refill makes an application incomplete, until it is
//!   done.
//! - *Tombstones* outlive the memory: 30 days to some minutes.
//! - *Two instances* share nothing: another one looks at the copies.
//!
//! # Why a reader with a token need not wait
//!
//! The token of a command has two numbers for each position: that of the caller's last write, and that of the
//! last one which the eager projections may not have applied
//! ([`SessionPosition`](crate::cosmos::SessionPosition)). A reader waits for an eager projection up to the
//! second one. The number is left as it was only if each eager projection of the container has applied each
//! document that the command may have written there; a write that was refused or whose answer was lost counts
//! as unapplied. Merged positions keep the greater number of each kind.
//!
//! - *Another version of the app* may have other eager projections. A token names the set for which its
//!   numbers hold ([`EagerProjections::tag`]). Another set waits for all writes.
//! - *The copies* are read in the session: the token has the positions of the copies, too, as positions for
//!   which no reader waits. So a projection that reads the container of the copies holds up no reader. A
//!   projection that copies these copies further has a chain, which is followed as for any other projection
//!   (`catch_up.rs`): the positions of the first projection's sources are in the token, applied or not.
//!
//! # Several requests with one source
//!
//! Members of one group ([`Combiner`](crate::cosmos::Combiner)) have written the same documents. Their
//! applications of a source go one after the other, and each but the first finds in the memory that it is done.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use custom_handler::Document;
use futures::{FutureExt, future::join_all};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use twox_hash::XxHash64;

use super::{
    AppliedChanges, Projection,
    apply::ApplyError,
    batch::{self, SourceChange},
    control::ProjectionGate,
};
use crate::{
    cosmos::{Captures, Limits, SeenPositions, Session, StoreError, in_no_session, within},
    telemetry,
};

/// The time for which an application may take, unless a setting says otherwise.
pub const EAGER_TIME: Duration = Duration::from_millis(100);

/// The most sources of a command that a projection applies.
const MAX_SOURCES: usize = 16;

/// The most commands whose changes are applied at a time. They have left the admission control by then.
const MAX_COMMANDS: usize = 64;

/// Settings of eager projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EagerOptions {
    /// The longest time of an application; zero for no eager projections at all.
    pub time: Duration,
    /// The functions of the eager projections, instead of those that the domains name.
    pub projections: Option<&'static [&'static str]>,
}

impl Default for EagerOptions {
    fn default() -> Self {
        Self { time: EAGER_TIME, projections: None }
    }
}

/// A [`Projection`] of any type of change, for those that apply changes without a batch.
pub trait ApplyEagerly: Send + Sync {
    /// Returns the newest change of each source among the documents, each to be applied once; `None` if one
    /// cannot be read.
    fn changes(&self, documents: Vec<Document>) -> Option<Vec<SourceChange<'_>>>;
}

impl<P: Projection> ApplyEagerly for P {
    fn changes(&self, documents: Vec<Document>) -> Option<Vec<SourceChange<'_>>> {
        batch::changes(self, documents)
    }
}

/// The eager projections of an app. Cloning is cheap.
#[derive(Clone)]
pub struct EagerProjections(Arc<Eager>);

struct Eager {
    all: Vec<Arc<EagerProjection>>,
    time: Duration,
    permits: Semaphore,
    tag: u32,
}

/// A projection that is applied eagerly, too.
pub(super) struct EagerProjection {
    pub(super) function: &'static str,
    pub(super) container: &'static str,
    pub(super) projection: Arc<dyn ApplyEagerly>,
    pub(super) gate: Arc<ProjectionGate>,
    pub(super) applied: AppliedChanges,
}

/// The reason for which a change is left to the change feed.
#[derive(Debug, thiserror::Error)]
pub enum EagerError {
    /// The projection is paused, or its state cannot be read.
    #[error("the projection is paused, or its state cannot be read")]
    Paused,
    /// The store has refused a request, or has not answered.
    #[error("{}", .0.reason)]
    Failed(StoreError),
    /// A bug, a copy that cannot be written, or a document that cannot be read.
    #[error("the change cannot be applied")]
    Impossible,
    /// The time limit.
    #[error("it takes too long")]
    OutOfTime,
    /// The command has changed too many sources, or too many commands are at work.
    #[error("there are too many changes")]
    TooMany,
}

impl EagerProjections {
    pub(super) fn new(all: Vec<Arc<EagerProjection>>, time: Duration) -> Self {
        let names: BTreeSet<_> = all.iter().map(|one| one.function).collect();
        let names: Vec<_> = names.into_iter().collect();
        #[expect(clippy::cast_possible_truncation, reason = "32 of 64 bits are enough")]
        let tag = XxHash64::oneshot(0, names.join(" ").as_bytes()) as u32;
        Self(Arc::new(Eager { all, time, permits: Semaphore::new(MAX_COMMANDS), tag }))
    }

    /// Returns the number of this set of projections, which is the same at each instance that has it.
    pub fn tag(&self) -> u32 {
        self.0.tag
    }

    /// Returns the containers that they monitor: a command keeps what it writes there.
    pub fn captures(&self) -> Captures {
        let containers = self.0.all.iter().map(|one| one.container);
        containers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns true if the projection of a function is one of them.
    pub fn has(&self, function: &str) -> bool {
        self.of(function).is_some()
    }

    pub(super) fn of(&self, function: &str) -> Option<&Arc<EagerProjection>> {
        self.0.all.iter().find(|one| one.function == function)
    }

    /// Applies the changes of a command that has succeeded. Returns the positions that a reader after it has to
    /// see: those of its writes, and those of the copies.
    pub async fn apply(&self, command: SeenPositions) -> Session {
        let mut session = command.session();
        let documents = command.documents();
        if documents.is_empty() {
            return session;
        }
        let is_concerned = |one: &&Arc<EagerProjection>| {
            let container = one.container;
            documents.iter().any(|document| document.container == container)
        };
        let concerned: Vec<_> = self.0.all.iter().filter(is_concerned).collect();
        let Ok(_permit) = self.0.permits.try_acquire() else {
            for one in concerned {
                one.report(&Err(EagerError::TooMany));
            }
            return session;
        };
        let limits = Limits { store_requests: 100, request_units: 1_000, time: self.0.time };
        let applications = concerned.iter().map(|one| async {
            let documents = documents.iter().filter(|it| it.container == one.container);
            let documents = documents.filter_map(|it| Document::from_json(&*it.text).ok());
            // The command is carried out: a bug of a projection is no error of it.
            let work = AssertUnwindSafe(one.apply(documents.collect())).catch_unwind();
            let work = work.map(|applied| applied.unwrap_or(Err(EagerError::Impossible)));
            let applied = timeout(self.0.time, work).await.unwrap_or(Err(EagerError::OutOfTime));
            one.report(&applied);
            (one.container, applied.ok())
        });
        let applied = within(limits, join_all(applications)).await;
        for (container, copies) in &applied {
            let mut all = applied.iter().filter(|(other, _)| other == container);
            let is_applied = all.all(|(_, copies)| copies.is_some());
            let is_certain = command.knows_all_documents(container);
            if is_applied && is_certain {
                session = session.applied_in(container);
            }
            session = session.and(copies.as_ref().unwrap_or(&Session::default()));
        }
        session
    }
}

/// Applies the newest change of each source among the documents, but for those that were applied at this
/// instance before, and remembers them. Returns the positions of their copies.
pub async fn apply_eagerly(
    projection: &dyn ApplyEagerly,
    applied: &AppliedChanges,
    documents: Vec<Document>,
) -> Result<Session, EagerError> {
    let changes = projection.changes(documents).ok_or(EagerError::Impossible)?;
    if changes.len() > MAX_SOURCES {
        return Err(EagerError::TooMany);
    }
    let mut copies = Session::default();
    for SourceChange { source, version, apply } in changes {
        let mut known = applied.enter(&source, Instant::now()).await;
        let there = known.copies_of(version, Instant::now());
        if let Some(positions) = there {
            copies = copies.and(&positions);
            continue;
        }
        let (effect, seen) = in_no_session(Captures::default(), apply).await;
        effect.map_err(|error| match error {
            ApplyError::Transient(error) => EagerError::Failed(error),
            ApplyError::Permanent(_) => EagerError::Impossible,
        })?;
        let positions = seen.of_copies();
        copies = copies.and(&positions);
        known.set(version, positions, Instant::now());
    }
    Ok(copies)
}

impl EagerProjection {
    /// Applies the changes of the documents, unless the projection is paused.
    async fn apply(&self, documents: Vec<Document>) -> Result<Session, EagerError> {
        match self.gate.refuses().await {
            Ok(None) => apply_eagerly(&*self.projection, &self.applied, documents).await,
            Ok(Some(_)) | Err(_) => Err(EagerError::Paused),
        }
    }

    /// Reports an application in the metrics, and in the log if it is left to the change feed.
    fn report(&self, applied: &Result<Session, EagerError>) {
        let function = self.function;
        let outcome = match applied {
            Ok(_) => "applied",
            Err(EagerError::Paused) => "paused",
            Err(EagerError::OutOfTime) => "out_of_time",
            Err(EagerError::TooMany) => "too_many",
            Err(EagerError::Failed(_) | EagerError::Impossible) => "failed",
        };
        if let Err(error) = applied {
            tracing::debug!(projection = function, %error, "A change is left to the change feed");
        }
        telemetry::eager_application(function, outcome);
    }
}
