//! Eager projections: the instance of a command applies the command's own change to the copies, right after the
//! commit and before the answer.
//!
//! # How a domain uses it
//!
//! A domain names its eager projections ([`Domain::eager`](crate::domain::Domain::eager)). A command that its
//! callers never look up in copies says so
//! ([`without_eager_copies`](crate::http::HttpFunction::without_eager_copies)). Only a projection whose work for
//! a change is small gains from it: a time limit ends the others, and the change feed does their work.
//!
//! # Why a change may be applied early
//!
//! A delivery may come at any time, any number of times, at several instances, and end in the middle
//! ([`projection`](super)). An eager application is one more delivery, of a document that was committed, and
//! acknowledges nothing. If it fails, is cut off or never begins, the change feed delivers the change, with
//! retries and dead letters of its own. A paused projection, or one whose state cannot be read, applies nothing
//! eagerly. Only documents of writes that were answered are applied: one that is applied and then lost would
//! leave a copy of nothing.
//!
//! # Why a reader with a token need not wait
//!
//! The token of a command has two numbers for each position: that of the caller's last write, and that of the
//! last one which the eager projections may not have applied
//! ([`SessionPosition`](crate::cosmos::SessionPosition)). A reader waits for an eager projection up to the second
//! one. It is left as it was only if each eager projection of the container has applied each document that the
//! command may have written there; a write that was refused or whose answer was lost counts as unapplied. Merged
//! positions keep the greater number of each kind.
//!
//! - *Another version of the app* may have other eager projections. A token names the set for which its numbers
//!   hold ([`EagerProjections::tag`]). Another set waits for all writes.
//! - *The copies* are read in the session: the token has their positions, too, as positions for which no reader
//!   waits. A projection that copies these copies further has a chain, which is followed as for any other
//!   projection (`catch_up.rs`).
//!
//! Members of one group ([`Combiner`](crate::cosmos::Combiner)) have written the same documents. They share what
//! was applied of them ([`EagerApplications`]): the first applies a source, and the others find it done.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use custom_handler::Document;
use futures::{FutureExt, future::join_all};
use tokio::{sync::Semaphore, time::timeout};
use twox_hash::XxHash64;

use super::{AnyProjection, ReadBatch, registry::RegisteredProjection};
use crate::{
    cosmos::{Captures, EagerApplications, Limits, SeenPositions, Session, in_no_session, within},
    telemetry,
};

pub(crate) const EAGER_TIME: Duration = Duration::from_millis(100);

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

#[derive(Clone)]
pub(crate) struct EagerProjections(Arc<Eager>);

struct Eager {
    all: Vec<Arc<RegisteredProjection>>,
    time: Duration,
    permits: Semaphore,
    tag: u32,
}

/// The reason for which a change is left to the change feed, as the metrics name it.
type LeftOut = &'static str;

const PAUSED: LeftOut = "paused";
/// The store refuses it, or it cannot be applied: a bug, or a document that cannot be read.
const FAILED: LeftOut = "failed";
const OUT_OF_TIME: LeftOut = "out_of_time";
const TOO_MANY: LeftOut = "too_many";

impl EagerProjections {
    pub(super) fn new(all: Vec<Arc<RegisteredProjection>>, time: Duration) -> Self {
        let names: BTreeSet<_> = all.iter().map(|eager| eager.function()).collect();
        let names: Vec<_> = names.into_iter().collect();
        #[expect(clippy::cast_possible_truncation, reason = "32 of 64 bits are enough")]
        let tag = XxHash64::oneshot(0, names.join(" ").as_bytes()) as u32;
        Self(Arc::new(Eager { all, time, permits: Semaphore::new(MAX_COMMANDS), tag }))
    }

    pub(crate) fn tag(&self) -> u32 {
        self.0.tag
    }

    pub(crate) fn captures(&self) -> Captures {
        let containers = self.0.all.iter().map(|eager| eager.container_id());
        containers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the positions that a reader has to see: those of the command's writes, and those of the copies.
    pub(crate) async fn apply(&self, command: SeenPositions) -> Session {
        let mut session = command.session();
        let documents = command.documents();
        if documents.is_empty() {
            return session;
        }
        let is_concerned = |eager: &&Arc<RegisteredProjection>| {
            let container = eager.container_id();
            documents.iter().any(|document| document.container == container)
        };
        let concerned: Vec<_> = self.0.all.iter().filter(is_concerned).collect();
        let Ok(_permit) = self.0.permits.try_acquire() else {
            for eager in concerned {
                eager.report(&Err(TOO_MANY));
            }
            return session;
        };
        let limits = Limits { store_requests: 100, request_units: 1_000, time: self.0.time };
        let applications = command.applications();
        let work = concerned.iter().map(|eager| async {
            let container = eager.container_id();
            let documents = documents.iter().filter(|document| document.container == container);
            let documents =
                documents.filter_map(|document| Document::from_json(&*document.text).ok());
            // The command is carried out: a bug of a projection is no error of it.
            let applied =
                AssertUnwindSafe(eager.apply(&applications, documents.collect())).catch_unwind();
            let applied = applied.map(|applied| applied.unwrap_or(Err(FAILED)));
            let applied = timeout(self.0.time, applied).await.unwrap_or(Err(OUT_OF_TIME));
            eager.report(&applied);
            (container, applied.ok())
        });
        let applied = within(limits, join_all(work)).await;
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

/// Applies the newest change of each source among the documents once, as the instance of a command does.
pub async fn apply_eagerly(projection: &dyn AnyProjection, documents: Vec<Document>) {
    // The change feed applies what fails here.
    let _ = apply_once(projection, &EagerApplications::default(), documents).await;
}

/// Returns the positions of the copies.
async fn apply_once(
    projection: &dyn AnyProjection,
    applications: &EagerApplications,
    documents: Vec<Document>,
) -> Result<Session, LeftOut> {
    let ReadBatch { tasks, changes, .. } = projection.read(documents);
    if tasks.len() > MAX_SOURCES {
        return Err(TOO_MANY);
    }
    let numbers: Result<Vec<_>, _> = tasks.into_iter().map(|task| task.change).collect();
    let mut copies = Session::default();
    for number in numbers.map_err(|_| FAILED)? {
        let Some((source, version)) = changes.source(number) else { continue };
        let applied = applications.of(projection.function(), &source);
        let mut applied = applied.lock().await;
        if let Some((known, positions)) = &*applied
            && *known >= version
        {
            copies = copies.and(positions);
            continue;
        }
        let applying = changes.apply(number, false);
        let (effect, seen) = in_no_session(Captures::default(), applying).await;
        effect.map_err(|error| {
            tracing::debug!(projection = projection.function(), ?error, "A change was not applied");
            FAILED
        })?;
        let positions = seen.of_copies();
        copies = copies.and(&positions);
        *applied = Some((version, positions));
    }
    Ok(copies)
}

impl RegisteredProjection {
    async fn apply(
        &self,
        applications: &EagerApplications,
        documents: Vec<Document>,
    ) -> Result<Session, LeftOut> {
        match self.gate.refuses().await {
            Ok(None) => apply_once(&**self, applications, documents).await,
            Ok(Some(_)) | Err(_) => Err(PAUSED),
        }
    }

    fn report(&self, applied: &Result<Session, LeftOut>) {
        let projection = self.function();
        let outcome = applied.as_ref().err().copied().unwrap_or("applied");
        if applied.is_err() {
            tracing::debug!(projection, outcome, "A change is left to the change feed");
        }
        telemetry::eager_application(projection, outcome);
    }
}
