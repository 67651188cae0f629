//! The ten requests to one model.

use anyhow::Context;
use serde::Serialize;
use tributary::blog::model::Username;
use tributary_local::cosmos::StoreRequest;

use super::{
    calls::{Call, Calls, VISITORS},
    data::DataSet,
    models::Model,
    request::{Request, Version},
};
use crate::{
    measure::{Asked, Effort, Measured, measure},
    progress::Progress,
    store::Database,
};

/// What a request took in a model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) request: Request,
    pub(crate) model: Version,
    #[serde(flatten)]
    pub(crate) measured: Measured,
}

/// Measures the ten requests, queries first, while nothing is new.
pub(crate) async fn measure_all<M: Model>(
    model: &M,
    database: &Database,
    data: &DataSet,
    effort: Effort,
    mut progress: Progress,
) -> anyhow::Result<Vec<Row>> {
    let mut visitors = Vec::new();
    for n in 0..VISITORS {
        visitors.push(model.create_user(&Username::parse(format!("visitor-{n}"))?).await?);
    }
    let mut requests = Request::ALL;
    requests.sort_by_key(|request| request.is_command());
    let mut rows = Vec::new();
    for request in requests {
        let calls = Calls::new(request, data, &visitors);
        let mut asked = OneKind { model, database, data, calls };
        let measured = measure(&mut asked, effort).await;
        let measured = measured.with_context(|| format!("{request} of {}", M::VERSION))?;
        rows.push(Row { request, model: M::VERSION, measured });
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
    type Call = Call;

    /// A query has its container looked up, and the product remembers the names of all visitors.
    fn n_before(&self) -> usize {
        if self.calls.request().is_command() { VISITORS } else { 1 }
    }

    fn most(&self) -> usize {
        self.calls.most()
    }

    async fn next(&mut self) -> anyhow::Result<Call> {
        self.calls.next()
    }

    async fn ask(&self, call: &Call) -> anyhow::Result<()> {
        call.ask(self.model).await
    }

    fn take_requests(&self) -> Option<Vec<StoreRequest>> {
        self.database.take_requests()
    }

    /// Those of the posts: no other container is asked without a partition key.
    fn logical_partitions(&self, _: &str) -> usize {
        self.data.posts.len()
    }
}
