//! Queries of items, and their plans.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cosmos_model::{
    charges::{
        reads::{self, QueryWork},
        sql::shape,
    },
    partitioning::path::PropertyPath,
    sql::Select,
};
use serde_json::{Value, json};

use super::{
    Service,
    address::Container,
    answer::Answer,
    blocking,
    call::{Call, name},
    gateway,
    scope::{Scope, epk},
};
use crate::{
    Refusal, Result,
    engine::EpkRange,
    json::Json,
    query::{self, Page, PageRequest, ResumeFilter, WantedIndex, plan},
    sql::{Parameters, Prepared},
};

/// What an SDK can merge.
const ALL_FEATURES: &str = "Aggregate, Distinct, GroupBy, MultipleAggregates, MultipleOrderBy, OffsetAndLimit, \
                            OrderBy, Top, NonValueAggregate, DCount, NonStreamingOrderBy, CountIf, \
                            HybridSearch, WeightedRankFusion";

/// A header of this store alone, for clients without an SDK: the store merges the partitions.
const MERGES: &str = "x-store-merges-partitions";

/// Reads the text of a query and its parameters.
pub(super) fn text(body: &Json) -> Result<(String, Parameters)> {
    let bad = || Refusal::new(400, "The request payload is invalid: it has no text of a query.");
    let Some(Json::Text(text)) = body.get("query") else { return Err(bad()) };
    let mut parameters = Parameters::new();
    if let Some(Json::Array(all)) = body.get("parameters") {
        for one in all {
            let Some(Json::Text(name)) = one.get("name") else { return Err(bad()) };
            // A parameter without a value is undefined for the service; null is the nearest.
            let value = one.get("value").cloned().unwrap_or(Json::Null);
            parameters.push((name.to_string(), value));
        }
    }
    Ok((text.to_string(), parameters))
}

fn resume(body: &Json) -> Result<Option<ResumeFilter>> {
    let bad = || Refusal::new(400, "The resumeFilter of the query is malformed.");
    let Some(filter) = body.get("resumeFilter") else { return Ok(None) };
    let value = match filter.get("value") {
        Some(Json::Array(values)) => values.clone(),
        Some(value) => vec![value.clone()],
        None => return Err(bad()),
    };
    let rid = filter.get("rid").and_then(Json::as_str).map(str::to_owned);
    let exclude = filter.get("exclude") == Some(&Json::Bool(true));
    Ok(Some(ResumeFilter { value, rid, exclude }))
}

impl Service {
    pub(super) fn plan(call: &Call, container: &Container) -> Result<Answer> {
        let (text, parameters) = text(&call.json()?)?;
        let query = Prepared::new(&text, parameters)?;
        let features = call.header("x-ms-cosmos-supported-query-features").unwrap_or_default();
        let plan = plan::plan(&call.view, container.id, &query, &container.definition, features)?;
        Ok(Answer::json(200, &plan))
    }

    pub(super) async fn query(&self, call: &Call, container: &Container) -> Result<Answer> {
        let began = Instant::now();
        let body = call.json()?;
        let (text, parameters) = text(&body)?;
        let query = Prepared::new(&text, parameters)?;
        let compiled = began.elapsed();
        let resume = resume(&body)?;
        let max_items = call.max_items()?;
        let mut scope = Scope::new(call, container)?;
        scope.check_session(call)?;
        let part = part(call, container, &scope, &query)?;
        match &part {
            Part::Merged(plan) => return Ok(not_served(plan)),
            Part::Key(range) => scope.narrow(range),
            Part::Named | Part::All => {}
        }
        let continuation = call.header(name::CONTINUATION).map(str::to_owned);
        let begins = continuation.is_none();

        let is_split = matches!(part, Part::All) && query.has_source();
        let parts = is_split.then(|| scope.parts());
        let (id, range, view) = (container.id, scope.range.clone(), call.view.clone());
        let definition = Arc::clone(&container.definition);
        let (query, page, executed) = blocking(move || {
            let began = Instant::now();
            let request = PageRequest {
                container: id,
                definition: &definition,
                range,
                max_items,
                continuation: continuation.as_deref(),
                resume,
            };
            let page = match parts {
                Some(parts) => gateway::page(&view, &query, request, parts)?,
                None => query::page(&view, &query, &request)?,
            };
            Ok((query, page, began.elapsed()))
        })
        .await?;
        if let Some(WantedIndex { paths, within_logical_partition }) = page.wanted.clone() {
            // The next query has it.
            let engine = self.engine.clone();
            tokio::spawn(async move {
                engine.build_index(id, &paths, within_logical_partition).await;
            });
        }

        let mut answer = Answer::feed(container.rid(), "Documents", &page.results)
            .continuation(page.continuation.as_deref())
            .scope(&scope);
        let shape = shape(&query.query);
        // The partition key is looked up once, whether the text names it or not.
        let keys = &container.definition.key_paths;
        let in_text = !keys.is_empty() && keys.iter().all(|key| shape.equalities.contains(key));
        let by_key = u32::from(scope.key.is_some() && !in_text);
        let partitions = u32::try_from(scope.partitions.len().max(1)).unwrap_or(u32::MAX);
        // The charges of pages add up to that of the query: only the first page has the start.
        answer.charge = reads::query(QueryWork {
            partitions: if begins { partitions } else { 0 },
            seeks: shape.seeks.saturating_add(by_key),
            // The service's index is always there: what is scanned here until an index is built costs nothing.
            items_loaded: page.work.items_matched,
            bytes_loaded: page.work.bytes_matched,
            bytes_returned: answer.body.len(),
        });
        answer.touched.work = page.work;
        if call.is("x-ms-documentdb-populatequerymetrics") {
            let metrics = metrics(&page, answer.body.len(), [began.elapsed(), compiled, executed]);
            answer = answer.header("x-ms-documentdb-query-metrics", &metrics);
        }
        if call.is("x-ms-cosmos-populateindexmetrics") {
            let by_key = keys.iter().filter(|_| scope.key.is_some());
            let metrics = index_metrics(by_key.chain(&shape.equalities));
            answer = answer.header("x-ms-cosmos-index-utilization", &metrics);
        }
        Ok(answer)
    }
}

/// Returns the indexes of the paths that a query has used, in the form of the service.
fn index_metrics<'p>(paths: impl Iterator<Item = &'p PropertyPath>) -> String {
    let index = |path: &PropertyPath| {
        json!({
            "FilterExpression": "", "IndexSpec": format!("{path}/?"), "FilterPreciseSet": true, "IndexPreciseSet": true,
            "IndexImpactScore": "High",
        })
    };
    let metrics = json!({
        "UtilizedSingleIndexes": paths.map(index).collect::<Vec<_>>(), "PotentialSingleIndexes": [],
        "UtilizedCompositeIndexes": [], "PotentialCompositeIndexes": [],
    });
    BASE64_STANDARD.encode(metrics.to_string())
}

enum Part {
    /// What the headers name, or all of the container as one.
    Named,
    /// A logical partition that the text of the query names.
    Key(EpkRange),
    /// All physical partitions, one after the other.
    All,
    /// All physical partitions, whose results would have to be merged by this plan.
    Merged(Value),
}

/// Returns what a query is for. One of several partitions has to say that it is one.
fn part(call: &Call, container: &Container, scope: &Scope, query: &Prepared) -> Result<Part> {
    let is_named = scope.key.is_some()
        || call.header(name::RANGE).is_some()
        || call.header("x-ms-start-epk").is_some();
    if is_named || call.is(MERGES) {
        return Ok(Part::Named);
    }
    let definition = &container.definition;
    let plan = plan::plan(&call.view, container.id, query, definition, ALL_FEATURES)?;
    let ranges = plan["queryRanges"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let [one] = ranges
        && one["min"] == one["max"]
        && let Some(key) = one["min"].as_str()
    {
        // Such a query is for SDKs that merge its form, wherever its items are.
        let is_listed = matches!(query.query.select, Select::List(_))
            && query.plan.is_grouped
            && query.query.group_by.is_empty();
        if is_listed && call.is(name::ALLOWS_ALL) {
            return Ok(Part::Merged(plan));
        }
        return Ok(Part::Key(EpkRange::point(epk(key)?)));
    }
    if !call.is(name::ALLOWS_ALL) {
        return Err(crosses_partitions());
    }
    let info = &plan["queryInfo"];
    let is_merged = query.query.by_rank
        || info["rewrittenQuery"].as_str().is_some_and(|text| !text.is_empty())
        || info["distinctType"] != "None"
        || !info["top"].is_null()
        || !info["limit"].is_null();
    Ok(if is_merged { Part::Merged(plan) } else { Part::All })
}

/// Returns the answer to a query whose partitions have to be merged, which SDKs do themselves: they know that by the
/// sub-status and by the plan.
fn not_served(plan: &Value) -> Answer {
    let text = "The provided cross partition query can not be directly served by the gateway. This is a first chance \
                (internal) exception that all newer clients will know how to handle gracefully. This exception is \
                traced, but unless you see it bubble up as an exception (which only happens on older SDK clients), \
                then you can safely ignore this message.";
    let plan = plan.to_string();
    let body = json!({"code": "BadRequest", "message": text, "additionalErrorInfo": plan});
    Answer::json(400, &body).header("x-ms-substatus", "1004")
}

pub(super) fn crosses_partitions() -> Refusal {
    let text = "Cross partition query is required but disabled. Please set \
                x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise \
                your query to avoid this exception.";
    Refusal::new(400, text)
}

/// Returns the metrics in the form of the service. The whole, the compilation and the execution are measured; the parts
/// of these are not, and are 0.
fn metrics(
    page: &Page,
    bytes_returned: usize,
    [total, compiled, executed]: [Duration; 3],
) -> String {
    let [total, compiled, executed] = [total, compiled, executed].map(|it| 1e3 * it.as_secs_f64());
    let (loaded, returned) = (page.work.items_loaded, page.results.len());
    let is_exact = returned >= usize::try_from(loaded).unwrap_or(usize::MAX);
    format!(
        "totalExecutionTimeInMs={total:.4};queryCompileTimeInMs={compiled:.4};\
         queryLogicalPlanBuildTimeInMs=0.0000;queryPhysicalPlanBuildTimeInMs=0.0000;\
         queryOptimizationTimeInMs=0.0000;VMExecutionTimeInMs={executed:.4};indexLookupTimeInMs=0.0000;\
         documentLoadTimeInMs=0.0000;systemFunctionExecuteTimeInMs=0.0000;userFunctionExecuteTimeInMs=0.0000;\
         writeOutputTimeInMs=0.0000;instructionCount=0;retrievedDocumentCount={loaded};\
         retrievedDocumentSize={};outputDocumentCount={returned};outputDocumentSize={bytes_returned};\
         indexUtilizationRatio={}",
        page.work.bytes_loaded,
        if is_exact { "1.00" } else { "0.50" }
    )
}
