//! The container of the states.

use std::{collections::HashMap, sync::Arc};

use super::{ProjectionState, WaitingPositions};
use crate::cosmos::{
    Container, Cosmos, ETag, JsonText, Query, Reads, Reason, RowResult, Scope, StoreError, Stored,
};

/// The most states that are read at a time: an app has some tens of projections.
const MAX_STATES: u32 = 1_000;

/// The container of the states. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct ProjectionStates(Container);

impl ProjectionStates {
    pub(crate) fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self(cosmos.container("projections"))
    }

    pub(crate) fn reading(&self, reads: Reads) -> Self {
        Self(self.0.reading(reads))
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

    /// Reads the states of all projections that have one, by the functions' names: a query in all partitions
    /// of a container with some tens of items. An unreadable state is there as its text.
    pub(crate) async fn all(
        &self,
    ) -> Result<HashMap<String, RowResult<ProjectionState>>, StoreError> {
        let query = Query::from("SELECT * FROM c WHERE c.id != @positions")
            .with_parameter("@positions", WaitingPositions::ID)?;
        let rows = self.0.query_rows(query, Scope::Container, MAX_STATES).await;
        let rows: Vec<RowResult<ProjectionState>> = none_without_container(rows)?;
        let with_name = |row: RowResult<ProjectionState>| {
            let name = row.as_ref().map_or_else(JsonText::id, |state| Some(state.id.clone()))?;
            Some((name, row))
        };
        Ok(rows.into_iter().filter_map(with_name).collect())
    }

    /// Reads the positions of leases at which changes wait, and their ETag: one point read.
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

    /// Writes the positions of leases at which changes wait, which have not changed since `etag`.
    pub(crate) async fn put_waiting_positions(
        &self,
        positions: &WaitingPositions,
        etag: Option<&ETag>,
    ) -> Result<(), StoreError> {
        self.0.put(&positions.id, &positions.id, positions, etag).await.map(drop)
    }

    /// Writes a state that has not changed since `etag`; without one, a state of a projection that had none.
    pub(crate) async fn put(
        &self,
        state: &ProjectionState,
        etag: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        self.0.put(&state.id, &state.id, state, etag).await
    }
}

/// Returns no states where the account has no container for them: no operator has ever paused a projection
/// there. So a deployment does not depend on the container.
fn none_without_container<T: Default>(read: Result<T, StoreError>) -> Result<T, StoreError> {
    match read {
        Err(StoreError { reason: Reason::NoContainer(_), .. }) => Ok(T::default()),
        read => read,
    }
}
