//! Projections in the hands of operators: listed with their lags, paused, resumed, rebuilt, their leases
//! released, their dead letters replayed; and the costs of recent work. Each is a part of the command
//! `projections`, or a function with a key. `docs/projections.md` has the runbooks,
//! [`control`](crate::projection::control) the argument.

pub(crate) mod command;
mod list_costs;
mod output;
mod update;
mod view;

pub(crate) use self::{
    list_costs::{AFTER, list_costs},
    update::{
        FORCE, PauseReason, ReleasedLease, cancel_rebuild, pause_projection, rebuild_projection,
        release_lease, resume_projection,
    },
    view::{
        LeaseName, LeaseView, ProjectionList, ProjectionName, ProjectionView, RebuildView,
        get_projection, list_projections,
    },
};
