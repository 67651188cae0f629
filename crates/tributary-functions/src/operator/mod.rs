//! Projections in the hands of operators: listed with their lags, paused, resumed, rebuilt, their leases
//! released, their dead letters replayed; and the costs of recent work.
//!
//! Each is a part of the command `projections`, and all but the replay are functions with a key. The costs are
//! such a function only.
//! `docs/projections.md` has the runbooks, [`control`](crate::projection::control) the states and the
//! argument.

pub(crate) mod command;
mod get_projection;
mod lease_view;
mod list_costs;
mod list_projections;
mod output;
mod rebuild_command;
mod release_lease;
mod table;
mod update;
mod view;
mod with_lag;

pub(crate) use self::{
    get_projection::get_projection,
    lease_view::{LeaseName, LeaseView},
    list_costs::{AFTER, list_costs},
    list_projections::{ProjectionList, list_projections},
    release_lease::{FORCE, ReleasedLease, release_lease},
    update::{
        PauseReason, cancel_rebuild, pause_projection, rebuild_projection, resume_projection,
    },
    view::{ProjectionName, ProjectionView, RebuildView},
};
