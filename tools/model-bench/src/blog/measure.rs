//! The ten requests to one model.

use anyhow::Context;
use serde::Serialize;
use tributary::blog::model::Username;
use tributary_local::cosmos::StoreRequest;

use super::{
    calls::{BlogCall, Calls, VISITORS},
    data::DataSet,
    models::Model,
    request::{BlogRequest, ModelVersion},
};
use crate::{
    measure::{Asked, Effort, RequestMeans, measure},
    progress::ProgressLine,
    store::Database,
};

/// The cost of a request in a model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BlogRow {
    pub(crate) request: BlogRequest,
    pub(crate) model: ModelVersion,
    #[serde(flatten)]
    pub(crate) measured: RequestMeans,
}

/// Measures the ten requests, queries first, before the commands add items.
pub(crate) async fn measure_all<M: Model>(
    model: &M,
    database: &Database,
    data: &DataSet,
    effort: Effort,
    mut progress: ProgressLine,
) -> anyhow::Result<Vec<BlogRow>> {
    let mut visitors = Vec::new();
    for n in 0..VISITORS {
        visitors.push(model.create_user(&Username::parse(format!("visitor-{n}"))?).await?);
    }
    let mut requests = BlogRequest::ALL;
    requests.sort_by_key(|request| request.is_command());
    let mut rows = Vec::new();
    for request in requests {
        let calls = Calls::new(request, data, &visitors);
        let mut asked = OneKind { model, database, data, calls };
        let measured = measure(&mut asked, effort).await;
        let measured = measured.with_context(|| format!("{request} of {}", M::VERSION))?;
        rows.push(BlogRow { request, model: M::VERSION, measured });
        progress.add(1);
    }
    rows.sort_by_key(|row| row.request);
    Ok(rows)
}

struct OneKind<'a, M> {
    model: &'a M,
    database: &'a Database,
    data: &'a DataSet,
    calls: Calls<'a>,
}

impl<M: Model> Asked for OneKind<'_, M> {
    type Call = BlogCall;

    /// The SDK reads the container of a query once, and the product caches the names of all visitors.
    fn n_before(&self) -> usize {
        if self.calls.request().is_command() { VISITORS } else { 1 }
    }

    fn most(&self) -> usize {
        self.calls.most()
    }

    async fn next(&mut self) -> anyhow::Result<BlogCall> {
        self.calls.next()
    }

    async fn ask(&self, call: &BlogCall) -> anyhow::Result<()> {
        call.ask(self.model).await
    }

    fn take_requests(&self) -> Option<Vec<StoreRequest>> {
        self.database.take_requests()
    }

    /// Those of the posts: only their container has queries without a partition key.
    fn logical_partitions(&self, _: &str) -> usize {
        self.data.posts.len()
    }
}
