//! Projections in the hands of operators: listed, paused, resumed, and their dead letters replayed.
//!
//! Each is a part of the command `projections`, and all but the replay are functions with a key.
//! `docs/projections.md` has the runbooks, [`control`](crate::projection::control) the states and the
//! argument.

pub mod command;
mod get_projection;
mod list_projections;
mod pause_projection;
mod resume_projection;
mod table;
mod update;
mod view;

pub use self::{
    get_projection::get_projection,
    list_projections::{ProjectionList, list_projections},
    pause_projection::{PauseReason, PauseRequest, pause_projection},
    resume_projection::resume_projection,
    update::{UpdatedProjection, pause, resume},
    view::{ProjectionName, ProjectionStatus, ProjectionView},
};
