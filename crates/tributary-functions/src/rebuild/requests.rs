//! The requests of operators: a rebuild is asked for, and cancelled.

use crate::{
    http::ApiError,
    projection::control::{ProjectionState, Rebuild},
    values::{Timestamp, fresh_id},
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RebuildRequest {
    id: String,
    by: Option<String>,
    since: Option<Timestamp>,
    now: Timestamp,
}

impl RebuildRequest {
    /// Creates a request for all sources, or for those that were written since a time.
    pub(crate) fn new(by: Option<String>, since: Option<Timestamp>) -> Self {
        Self { id: fresh_id(), by, since, now: Timestamp::now() }
    }

    /// Decides on a state: returns the next one, or `None` if it has this request already.
    ///
    /// # Errors
    ///
    /// A conflict where the projection is paused, or where another rebuild has not ended; a bad value where
    /// the time is not in the past.
    pub(crate) fn decide(
        &self,
        state: &ProjectionState,
    ) -> Result<Option<ProjectionState>, ApiError> {
        let Self { id, by, since, now } = self;
        if state.rebuild.as_ref().is_some_and(|rebuild| rebuild.id == *id) {
            return Ok(None);
        }
        if since.is_some_and(|since| since >= *now) {
            return Err(ApiError::invalid("since", "must be in the past"));
        }
        if state.pause.is_some() {
            return Err(ApiError::Conflict(
                "The projection is paused. Resume it, then rebuild it.",
            ));
        }
        if state.rebuild_under_way().is_some() {
            return Err(ApiError::Conflict(
                "A rebuild of the projection is under way. Wait for its end, or cancel it.",
            ));
        }
        let rebuild = Rebuild::new(id.clone(), by.clone(), *since, *now);
        Ok(Some(state.with_rebuild(rebuild)))
    }
}
