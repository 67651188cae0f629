//! The container of the states.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::ProjectionState;
use crate::{
    cosmos::{Container, Cosmos, ETag, Query, Reason, Scope, StoreError, Stored},
    projection::leases::Lease,
    values::Timestamp,
};

/// The most states that are read at a time: an app has some tens of projections.
const MAX_STATES: u32 = 1_000;

#[derive(Clone)]
pub(crate) struct ProjectionStates(Container);

impl ProjectionStates {
    pub(crate) fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self(cosmos.container("projections"))
    }

    pub(crate) fn container(&self) -> &Container {
        &self.0
    }

    pub(crate) async fn read(
        &self,
        function: &str,
    ) -> Result<(ProjectionState, Option<ETag>), StoreError> {
        let stored = none_without_container(self.0.read(function, function).await)?;
        Ok(stored.map_or_else(
            || (ProjectionState::running(function), None),
            |Stored { item, etag }| (item, Some(etag)),
        ))
    }

    pub(crate) async fn all(&self) -> Result<HashMap<String, ProjectionState>, StoreError> {
        let query = Query::from("SELECT * FROM c WHERE c.id != @positions")
            .with_parameter("@positions", WaitingPositions::ID)?;
        let states = self.0.query(query, Scope::Container, MAX_STATES).await;
        let states: Vec<ProjectionState> = none_without_container(states)?;
        Ok(states.into_iter().map(|state| (state.id.clone(), state)).collect())
    }

    pub(crate) async fn waiting_positions(
        &self,
    ) -> Result<(WaitingPositions, Option<ETag>), StoreError> {
        let id = WaitingPositions::ID;
        Ok(match none_without_container(self.0.read(id, id).await) {
            // They are written again by the next run of the timer.
            Err(StoreError { reason: Reason::Unreadable, .. }) => Default::default(),
            stored => {
                stored?.map_or_else(Default::default, |Stored { item, etag }| (item, Some(etag)))
            }
        })
    }

    pub(crate) async fn put_waiting_positions(
        &self,
        positions: &WaitingPositions,
        etag: Option<&ETag>,
    ) -> Result<(), StoreError> {
        self.0.put(&positions.id, &positions.id, positions, etag).await.map(drop)
    }

    pub(crate) async fn put(
        &self,
        state: &ProjectionState,
        etag: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        self.0.put(&state.id, &state.id, state, etag).await
    }
}

/// So a deployment does not depend on the container: no operator has paused a projection without it.
fn none_without_container<T: Default>(read: Result<T, StoreError>) -> Result<T, StoreError> {
    match read {
        Err(StoreError { reason: Reason::NoContainer(_), .. }) => Ok(T::default()),
        read => read,
    }
}

/// The most positions in the item, which is then some 200 KB.
const MAX_POSITIONS: usize = 1_000;

/// The positions of leases at which changes wait, each with the time of the first look: one look cannot tell a
/// stopped lease from one that moves. While no change waits the item is not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingPositions {
    pub id: String,
    positions: Vec<WaitingPosition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WaitingPosition {
    lease: String,
    #[serde(default)]
    continuation: Option<String>,
    since: Timestamp,
}

impl Default for WaitingPositions {
    fn default() -> Self {
        Self { id: Self::ID.to_owned(), positions: Vec::new() }
    }
}

impl WaitingPositions {
    /// The id of the item. No function has it as its name, which begins with a capital.
    pub(crate) const ID: &str = "waiting-leases";

    pub(crate) fn since(&self, lease: &Lease) -> Option<Timestamp> {
        let seen = self.positions.iter().find(|seen| seen.lease == lease.id)?;
        (seen.continuation == lease.continuation).then_some(seen.since)
    }

    /// A lease of which it is unknown whether changes wait stays as it was.
    pub(crate) fn after<'a>(
        &self,
        leases: impl Iterator<Item = (&'a Lease, Option<bool>)>,
        now: Timestamp,
    ) -> Self {
        let position = |(lease, is_waiting): (&Lease, Option<bool>)| {
            let since = match is_waiting {
                Some(false) => return None,
                Some(true) => self.since(lease).unwrap_or(now),
                None => self.since(lease)?,
            };
            let Lease { id, continuation, .. } = lease.clone();
            Some(WaitingPosition { lease: id, continuation, since })
        };
        let positions = leases.filter_map(position).take(MAX_POSITIONS).collect();
        Self { id: self.id.clone(), positions }
    }
}
