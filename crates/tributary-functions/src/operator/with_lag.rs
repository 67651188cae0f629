//! Projections with their measured lags.

use super::{
    lease_view::LeaseView,
    view::{ProjectionName, ProjectionView, find},
};
use crate::{
    cosmos::{ETag, StoreError},
    http::ApiError,
    projection::{
        Projections,
        lag::{MAX_MEASURED_LEASES, ProjectionLag},
    },
    values::Timestamp,
};

pub(super) async fn read(
    projections: &Projections,
    name: &ProjectionName,
) -> Result<(ProjectionView, Option<ETag>), ApiError> {
    let projection = find(projections, name)?;
    let (state, etag) = projections.states().read(projection.function()).await?;
    let lag = measured(projections.lag(projection).await);
    let view = ProjectionView::new(projections, projection, state);
    Ok((view.with_leases(projections, lag.as_ref()), etag))
}

impl ProjectionView {
    pub(super) fn with_lag(self, projections: &Projections, lag: Option<&ProjectionLag>) -> Self {
        let terms = projections.lease_terms(self.name);
        let is_paused = self.status.refuses_batches();
        let summary = |lag: &ProjectionLag| lag.summary(terms, is_paused, Timestamp::now());
        Self { lag: lag.map(summary), ..self }
    }

    pub(super) fn with_leases(
        self,
        projections: &Projections,
        lag: Option<&ProjectionLag>,
    ) -> Self {
        let terms = projections.lease_terms(self.name);
        let is_paused = self.status.refuses_batches();
        let view = |one| LeaseView::new(one, terms, is_paused);
        let leases = lag.map(|lag| lag.leases.iter().take(MAX_MEASURED_LEASES).map(view).collect());
        Self { leases, ..self.with_lag(projections, lag) }
    }
}

/// Returns a measured lag. Without one, the states are shown all the same.
pub(super) fn measured<T>(lag: Result<T, StoreError>) -> Option<T> {
    lag.inspect_err(|error| tracing::warn!(%error, "The lag could not be measured")).ok()
}
