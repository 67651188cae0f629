//! The decisions on a switch of readers between a projection and its successor
//! ([`succession`](crate::projection::succession) has the argument).

use super::{
    update::{UpdatedProjection, update},
    view::{ProjectionName, find},
};
use crate::{
    cosmos::Reads,
    http::{ApiError, Conditions, QueryParameter},
    projection::{
        Projections,
        control::{Generation, ProjectionState, Rebuild, RebuildStep, Retirement, Switch},
        succession::Succession,
    },
    values::Timestamp,
};

/// The parameter that switches without a comparison.
pub const SWITCH_FORCE: [QueryParameter; 1] = [QueryParameter::new(
    "force",
    "`true` switches though the copies were not compared, or wait for changes. The default is `false`.",
)];

/// The most seconds for which a change may wait for the projection to which readers are switched.
const MAX_WAITING_SECONDS: u64 = 10;

const NOT_REBUILT: &str = "The successor was not compared: its last rebuild has not ended. Rebuild it, and switch when \
     `rebuild` is `done`; or switch by force.";

/// A request to switch readers.
pub(super) struct SwitchRequest {
    pub(super) to: Generation,
    pub(super) by: Option<String>,
    pub(super) by_force: bool,
}

/// Switches the readers of a projection. Readers that are switched so already stay.
pub(super) async fn switch(
    projections: &Projections,
    name: &ProjectionName,
    conditions: &Conditions,
    request: &SwitchRequest,
) -> Result<UpdatedProjection, ApiError> {
    let projection = find(projections, name)?;
    let succession = succession_of(projections, name)?;
    let decide = |state: &ProjectionState| {
        let times = projections.options().switch;
        let now = Timestamp::now();
        request.decide(state, succession, (now, now.after(times.lead)))
    };
    if !request.by_force {
        let states = projections.states().reading(Reads::Latest);
        let (state, _) = states.read(succession.old()).await?;
        if decide(&state)?.is_some() {
            check(projections, succession, request.to).await?;
        }
    }
    let updated = update(projections, projection, conditions, &decide).await?;
    if updated.is_changed {
        let serves = succession.function_of(request.to);
        let by_force = request.by_force;
        let projection = succession.old();
        tracing::info!(
            projection,
            serves,
            by = request.by,
            by_force,
            "Switched the readers of a projection"
        );
    }
    Ok(updated)
}

/// Confirms a switch: the old projection is retired, and its copies are removed later.
pub(super) async fn confirm(
    projections: &Projections,
    name: &ProjectionName,
    conditions: &Conditions,
    by: Option<&String>,
) -> Result<UpdatedProjection, ApiError> {
    let projection = find(projections, name)?;
    let succession = succession_of(projections, name)?;
    let delay = projections.options().switch.removal_delay;
    let decide = |state: &ProjectionState| {
        let now = Timestamp::now();
        let retirement = Retirement {
            confirmed_at: now,
            by: by.cloned(),
            removes_from: now.after(delay),
            progress: <_>::default(),
            ended_at: None,
        };
        confirmed(state, succession.successor(), retirement)
    };
    let updated = update(projections, projection, conditions, &decide).await?;
    if updated.is_changed {
        let projection = succession.old();
        tracing::info!(projection, by, "Confirmed the switch of a projection: it is retired");
    }
    Ok(updated)
}

impl SwitchRequest {
    /// Decides on a state: returns the next one, or `None` if the readers are switched so already.
    fn decide(
        &self,
        state: &ProjectionState,
        succession: &Succession,
        (now, from): (Timestamp, Timestamp),
    ) -> Result<Option<ProjectionState>, ApiError> {
        let successor = succession.successor();
        let last = state.switch_to(successor);
        let serves = last.map_or(Generation::Old, |switch| switch.serves);
        if serves == self.to {
            return Ok(None);
        }
        if state.is_retired() {
            return Err(ApiError::Conflict(
                "The switch was confirmed: the projection is retired, and its copies are removed.",
            ));
        }
        if last.is_some_and(|switch| now < switch.from) {
            return Err(ApiError::Conflict(
                "Another switch holds in a few seconds. Wait, look at the status, and switch then.",
            ));
        }
        let successor = successor.to_owned();
        let by = self.by.clone();
        let switch = Switch { successor, serves: self.to, from, by, retirement: None };
        Ok(Some(state.with_switch(switch)))
    }
}

fn confirmed(
    state: &ProjectionState,
    successor: &str,
    retirement: Retirement,
) -> Result<Option<ProjectionState>, ApiError> {
    if state.is_retired() {
        return Ok(None);
    }
    let now = retirement.confirmed_at;
    let last = state.switch_to(successor).filter(|last| last.serves == Generation::New);
    let Some(switch) = last else {
        return Err(ApiError::Conflict(
            "Readers get the copies of this projection. Switch them to its successor first.",
        ));
    };
    if now < switch.from {
        return Err(ApiError::Conflict("The switch holds in a few seconds. Confirm it then."));
    }
    if state.rebuild_under_way().is_some() {
        return Err(ApiError::Conflict(
            "A rebuild of the projection is under way. Cancel it, then confirm.",
        ));
    }
    Ok(Some(state.with_switch(Switch { retirement: Some(retirement), ..switch.clone() })))
}

/// Returns the succession of a projection that has a successor.
pub(super) fn succession_of<'a>(
    projections: &'a Projections,
    name: &ProjectionName,
) -> Result<&'a Succession, ApiError> {
    let name = name.as_str();
    let mut successions = projections.successions().iter();
    if successions.clone().any(|one| one.successor() == name) {
        return Err(ApiError::Conflict(
            "The projection is a successor. Name the projection that it replaces.",
        ));
    }
    let none = ApiError::Conflict("The projection has no successor. Its domain declares one.");
    successions.find(|one| one.old() == name).ok_or(none)
}

/// Checks that a generation can serve: its projection applies changes as they come, and the successor's copies
/// were compared.
async fn check(
    projections: &Projections,
    succession: &Succession,
    to: Generation,
) -> Result<(), ApiError> {
    let function = succession.function_of(to);
    let projection = projections.by_function(function).ok_or(ApiError::Internal)?;
    let (state, _) = projections.states().reading(Reads::Latest).read(function).await?;
    if state.pause.is_some() {
        return Err(ApiError::Conflict(
            "The projection that readers would get is paused. Resume it first, or switch by force.",
        ));
    }
    if to == Generation::New {
        compared(state.rebuild.as_ref())?;
        if projections.dead_letters().count_since(function, Timestamp::EPOCH, 1).await? > 0 {
            return Err(ApiError::Conflict(
                "The successor has dead letters, so copies are missing. Replay them, or switch by force.",
            ));
        }
    }
    let lag = projections.lag(projection).await?;
    let waiting = lag.worst().map_or(0, |lag| lag.seconds(Timestamp::now()));
    if lag.leases.is_empty() || lag.unmeasured() > 0 || waiting > MAX_WAITING_SECONDS {
        return Err(ApiError::Conflict(
            "Changes wait for the projection that readers would get, or its lag is unknown: see its status. \
             Wait until it has caught up, or switch by force.",
        ));
    }
    Ok(())
}

/// Checks that the last rebuild of a successor has applied all sources, and that its audit was clean.
fn compared(rebuild: Option<&Rebuild>) -> Result<(), ApiError> {
    let done = |rebuild: &&Rebuild| {
        matches!(rebuild.step, RebuildStep::Done { .. }) && rebuild.since.is_none()
    };
    let progress = rebuild.filter(done).ok_or(ApiError::Conflict(NOT_REBUILT))?.progress;
    if progress.findings > progress.repaired {
        return Err(ApiError::Conflict(
            "The audit of the successor's rebuild has found differences that it could not repair: see the log. \
             Correct them and rebuild it again, or switch by force.",
        ));
    }
    if progress.read > 0 && progress.audited == 0 {
        return Err(ApiError::Conflict(
            "The successor was not compared: its domain has no audit. Compare its copies, and switch by force.",
        ));
    }
    Ok(())
}
