//! Rebuilds: a projection applies all of its sources again, beside the live changes.
//!
//! An operator asks for one after a correction of the projection, or after copies were lost
//! (`docs/projections.md`). [`Rebuild`] keeps the next of its two steps in the state of the projection:
//!
//! 1. *Sources*: a worker reads the container of the sources page by page, and applies each page as a batch. A
//!    rewind reads only the sources that were written since a time.
//! 2. *Audit*: the worker audits the domain slice by slice, with repair: it removes the copies that have no
//!    source, and corrects those with the version of their source and another content.
//!
//! The worker is the first of these that finds the rebuild without one: the command that has asked, a later
//! command, the timer [`MAINTENANCE`](crate::app::MAINTENANCE).
//!
//! # Why a rebuild ends right
//!
//! *Given*: (a) a batch may be applied at any time and any number of times, beside others
//! ([`projection`](crate::projection)); (b) each write of the audit is guarded ([`audit`](crate::audit)); (c)
//! every instance runs the code with which the copies are to be made. *Claim*: when the step *sources* has ended,
//! each source that exists has been applied, or is delivered by the change feed, or is a dead letter.
//!
//! A source that is not written after the request keeps its place in the query, and its page is applied before a
//! position behind it is stored. One that is written or created later is in the change feed, by (c) for the same
//! code. So:
//!
//! - *A crash* of the worker: the next one begins at the stored position, and applies at most one page again.
//! - *Two workers*, since the first was slow and its claim has expired: both apply pages, by (a). Each stores
//!   positions only while the state names it as the worker, so the first stops at its next write. A worker that stores
//!   a position has applied all pages since the one at which it began, and that one was stored likewise.
//! - *A lost answer* of the state's write: the next attempt finds the state that it would write.
//! - *A split* of a partition: the SDK's position names ranges of keys, and goes on in the parts.
//! - *A position that the store refuses*, such as that of an older SDK: the step begins again, by (a). After
//!   three times the rebuild has failed.
//! - *A pause*: the worker stops at its next write of the state, and goes on after the resume.
//! - *Readers* find every copy all the time: no step removes a copy that has a source.

mod worker;

use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::worker::RebuildStop;
use crate::{
    audit::AuditOptions,
    cosmos::Background,
    http::ApiError,
    projection::{
        Projections,
        control::{ProjectionState, Rebuild},
    },
    values::fresh_id,
};

/// The last page may take six minutes more, and `functionTimeout` is ten.
const TIMER_RUN: Duration = Duration::from_mins(3);

#[derive(Clone)]
pub(crate) struct Rebuilds {
    pub(crate) projections: Projections,
    background: Background,
    audit_options: AuditOptions,
}

impl Rebuilds {
    pub(crate) fn new(
        projections: &Projections,
        background: &Background,
        audit_options: AuditOptions,
    ) -> Self {
        let audit_options = AuditOptions { repair: true, ..audit_options };
        let (projections, background) = (projections.clone(), background.clone());
        Self { projections, background, audit_options }
    }

    /// One that fails keeps its position, and no other waits for it.
    pub(crate) async fn continue_all(&self, states: impl IntoIterator<Item = ProjectionState>) {
        use RebuildStop::{Batch, Failed, Store};

        let deadline = Instant::now() + TIMER_RUN;
        for state in states.into_iter().filter(|state| state.rebuild_under_way().is_some()) {
            let worker = fresh_id();
            let mut report = |_: &Rebuild| ();
            let run = self.run(&state.id, &worker, Some(deadline), &mut report);
            if let Err(error @ (Store(_) | Batch(_) | Failed(_))) = run.await {
                tracing::error!(projection = state.id, %error, "A rebuild could not go on");
            }
        }
    }
}

pub(crate) fn request_rebuild(
    rebuild: &Rebuild,
    state: &ProjectionState,
) -> Result<Option<ProjectionState>, ApiError> {
    if state.rebuild.as_ref().is_some_and(|known| known.id == rebuild.id) {
        return Ok(None);
    }
    if rebuild.since.is_some_and(|since| since >= rebuild.requested_at) {
        return Err(ApiError::invalid("since", "must be in the past"));
    }
    if state.pause.is_some() {
        return Err(ApiError::Conflict("The projection is paused. Resume it, then rebuild it."));
    }
    if state.rebuild_under_way().is_some() {
        return Err(ApiError::Conflict(
            "A rebuild of the projection is under way. Wait for its end, or cancel it.",
        ));
    }
    Ok(Some(state.with_rebuild(rebuild.clone())))
}
