//! Projections in the hands of operators: listed with their lags, paused, resumed, rebuilt, their leases
//! released, their dead letters replayed; and the costs of recent work.
//!
//! Each is a part of the command `projections`, and all but the replay are functions with a key. The costs are
//! such a function only.
//! `docs/projections.md` has the runbooks, [`control`](crate::projection::control) the states and the
//! argument.

mod cancel_rebuild;
pub(crate) mod command;
mod force;
mod get_projection;
mod lease_view;
mod list_costs;
mod list_projections;
mod output;
mod pause_projection;
mod rebuild_command;
mod rebuild_projection;
mod release_lease;
mod resume_projection;
mod table;
mod update;
mod view;
mod with_lag;

pub(crate) use self::{
    cancel_rebuild::cancel_rebuild,
    get_projection::get_projection,
    lease_view::LeaseView,
    list_costs::list_costs,
    list_projections::{ProjectionList, list_projections},
    pause_projection::pause_projection,
    rebuild_projection::rebuild_projection,
    release_lease::{FORCE, ReleasedLease, release_lease},
    resume_projection::resume_projection,
    view::{ProjectionView, RebuildView},
};
pub(crate) use self::{
    lease_view::LeaseName, list_costs::AFTER, pause_projection::PauseReason, view::ProjectionName,
};
