//! A succession as operators see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    projection::{
        control::{Generation, ProjectionState, RemovalProgress, Retirement, Switch},
        succession::Succession,
    },
    values::Timestamp,
};

/// The successor of a projection, and the switch of readers to it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Succession")]
pub struct SuccessionView {
    /// The successor.
    #[schemars(example = &"CopyRoomsV2")]
    pub successor: &'static str,
    /// The projection whose copies readers get now.
    #[schemars(example = &"CopyRooms")]
    pub serves: &'static str,
    /// The time from which the last switch holds, which may be some seconds ahead; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switched_at: Option<Timestamp>,
    /// The user of the command; none of a request.
    #[schemars(example = &"ann")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The removal of the old copies; none until the switch is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal: Option<RemovalView>,
}

/// The removal of the copies of a retired projection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Removal")]
pub struct RemovalView {
    /// The time at which the switch was confirmed.
    pub confirmed_at: Timestamp,
    /// The user of the command; none of a request.
    #[schemars(example = &"ann")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time at which the removal may begin.
    pub begins_at: Timestamp,
    /// The time at which no copy was left. None also where the copies have no container of their own, and stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The work so far.
    pub progress: RemovalProgress,
}

impl SuccessionView {
    pub(super) fn new(succession: &Succession, state: &ProjectionState) -> Self {
        let switch = state.switch_to(succession.successor());
        let serving = |switch: &Switch| switch.serving_at(Timestamp::now());
        Self {
            successor: succession.successor(),
            serves: succession.function_of(switch.map_or(Generation::Old, serving)),
            switched_at: switch.map(|switch| switch.from),
            by: switch.and_then(|switch| switch.by.clone()),
            removal: switch.and_then(|switch| switch.retirement.as_ref()).map(RemovalView::new),
        }
    }

    /// Returns the copies that readers get, or the removal, in words.
    pub(super) fn in_words(&self) -> String {
        let Self { successor, serves, switched_at, removal, .. } = self;
        if let Some(removal) = removal {
            return format!("readers get {successor}; {}", removal.in_words());
        }
        match switched_at.filter(|at| *at > Timestamp::now()) {
            Some(at) => format!("readers get {serves}, and another generation from {at} on"),
            None => format!("readers get {serves}; the successor is {successor}"),
        }
    }
}

impl RemovalView {
    pub(super) fn new(retirement: &Retirement) -> Self {
        let Retirement { confirmed_at, by, removes_from, progress, ended_at } = retirement.clone();
        Self { confirmed_at, by, begins_at: removes_from, ended_at, progress }
    }

    /// Returns the progress in words.
    pub(super) fn in_words(&self) -> String {
        let RemovalProgress { removed, left, .. } = self.progress;
        let left = if left == 0 { String::new() } else { format!(", {left} cannot be removed") };
        let end = if self.ended_at.is_some() { ", no copy is left" } else { "" };
        format!("{removed} copies removed{left}{end}")
    }
}
