//! Stories and properties of queries over an engine.

use std::time::Duration;

use serde_json::{Value, json};

mod pages;
mod plans;
mod rank;

use super::{
    Page, PageRequest, ResumeFilter,
    page::{LIMITS, Limits, page_within},
    plan::plan,
};
use crate::{
    Result,
    engine::{ContainerId, Engine, EpkRange, Mode, Name, tests},
    json::Json,
    sql::Prepared,
};

/// A store with one container.
struct World {
    engine: Engine,
    container: ContainerId,
    limits: Limits,
}

impl World {
    fn new(definition: Value) -> Self {
        let store = tests::World::new(definition);
        let limits = Limits { time: Duration::MAX, ..LIMITS };
        Self { engine: store.engine, container: store.container, limits }
    }

    fn with_key(path: &str) -> Self {
        Self::new(json!({"partitionKey": {"paths": [path]}}))
    }

    fn create(&self, item: &Value) {
        let operation = tests::put(Mode::Create, item);
        let done = tests::run(self.engine.transact(self.container, None, vec![operation]));
        assert!(done.expect("a transaction").results.iter().all(Result::is_ok));
    }

    fn plan(&self, query: &str, parameters: &[(&str, Value)]) -> Result<Value> {
        let parameters = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Json::from(value)))
            .collect();
        let query = Prepared::new(query, parameters)?;
        let view = self.engine.view();
        let (_, definition) = view.container(Name::Id("d"), Name::Id("c")).expect("a container");
        let features = "Aggregate, CompositeAggregate, Distinct, GroupBy, MultipleOrderBy, MultipleAggregates, \
                        OffsetAndLimit, OrderBy, Top, NonValueAggregate, DCount, NonStreamingOrderBy, CountIf, \
                        ListAndSetAggregate";
        plan(&view, self.container, &query, &definition, features)
    }

    fn page(
        &self,
        query: &Prepared,
        range: &EpkRange,
        max_items: Option<u32>,
        continuation: Option<&str>,
        resume: Option<ResumeFilter>,
    ) -> Result<Page> {
        let view = self.engine.view();
        let (container, definition) =
            view.container(Name::Id("d"), Name::Id("c")).expect("a container");
        let request = PageRequest {
            container,
            definition: &definition,
            range: range.clone(),
            max_items,
            continuation,
            resume,
        };
        page_within(self.limits, &view, query, &request)
    }

    fn all(&self, query: &str) -> Result<Vec<Value>> {
        self.all_in(query, &EpkRange::all())
    }

    fn all_in(&self, query: &str, range: &EpkRange) -> Result<Vec<Value>> {
        let query = Prepared::new(query, Vec::new())?;
        let mut results = Vec::new();
        let mut continuation = None;
        loop {
            let page = self.page(&query, range, Some(2), continuation.as_deref(), None)?;
            results.extend(page.results);
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        Ok(results.iter().map(|result| serde_json::from_slice(result).expect("JSON")).collect())
    }
}
