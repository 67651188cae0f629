//! Kinds of requests from the sums of the traffic.

use std::collections::BTreeMap;

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

use super::{
    queries::{self, QueryFilters},
    tables::TrafficTables,
};
use crate::request::{
    QueryAggregate, QuerySelection, RequestFilter, RequestFrequency, RequestKind, RequestOperation,
    TransactionStep,
};

pub(super) fn kinds(
    tables: &TrafficTables,
    days: f64,
    current: Option<&KeyStrategy>,
) -> Vec<RequestKind> {
    let key = current.map(of_key).unwrap_or_default();
    let mut kinds = Vec::new();
    for (name, requests) in &tables.operations {
        match operation(name) {
            Some(RequestOperation::Query) if !tables.texts.is_empty() => {
                kinds.extend(by_text(tables, *requests, days));
            }
            Some(RequestOperation::Query) => kinds.extend(queries(tables, *requests / days, &key)),
            Some(operation) => kinds.push(point(operation, *requests / days, &key)),
            // The change feed and scripts: no request of an app.
            None => {}
        }
    }
    if kinds.iter().all(|kind| kind.operation != RequestOperation::Query) {
        kinds.extend(by_text(tables, 0.0, days));
    }
    kinds
}

/// Returns the filters of a request that names the key.
fn of_key(strategy: &KeyStrategy) -> BTreeMap<PropertyPath, RequestFilter> {
    let parts = strategy.levels().iter().flatten();
    parts.map(|part| (part.path().clone(), RequestFilter::Drawn)).collect()
}

/// Returns the operation of a name in the tables, or `None` for one that no app requests.
fn operation(name: &str) -> Option<RequestOperation> {
    let name = name.to_ascii_lowercase();
    Some(match name.trim_end_matches("document") {
        "read" | "head" => RequestOperation::Read,
        "query" | "sqlquery" => RequestOperation::Query,
        "create" => RequestOperation::Create,
        "upsert" => RequestOperation::Upsert,
        "replace" | "update" => RequestOperation::Replace,
        "patch" => RequestOperation::Patch,
        "delete" => RequestOperation::Delete,
        "batch" => RequestOperation::Transaction,
        _ => return None,
    })
}

fn point(
    operation: RequestOperation,
    per_day: f64,
    key: &BTreeMap<PropertyPath, RequestFilter>,
) -> RequestKind {
    let mut filters = key.clone();
    filters.insert(PropertyPath::from_name("id"), RequestFilter::Drawn);
    let name = match operation {
        RequestOperation::Read => "reads of an item",
        RequestOperation::Create => "creates",
        RequestOperation::Upsert => "upserts",
        RequestOperation::Replace => "replaces",
        RequestOperation::Patch => "patches",
        RequestOperation::Delete => "deletes",
        RequestOperation::Transaction => "transactions",
        RequestOperation::Query => "queries",
    };
    // The rows do not tell the writes of a transaction: two are the fewest that need one.
    let writes = match operation {
        RequestOperation::Transaction => {
            vec![TransactionStep { items: 2, ..TransactionStep::new(RequestOperation::Create) }]
        }
        _ => Vec::new(),
    };
    RequestKind { filters, writes, ..kind(name.to_owned(), operation, per_day) }
}

/// Returns the queries that stay in one logical partition, and the others.
fn queries(
    tables: &TrafficTables,
    per_day: f64,
    key: &BTreeMap<PropertyPath, RequestFilter>,
) -> Vec<RequestKind> {
    let query =
        |name: &str, per_day, filters: &BTreeMap<PropertyPath, RequestFilter>| RequestKind {
            filters: filters.clone(),
            ..kind(name.to_owned(), RequestOperation::Query, per_day)
        };
    let Some(share) = tables.queries_in_one_partition() else {
        return vec![query("queries", per_day, &BTreeMap::new())];
    };
    let kinds = [
        query("queries in one logical partition", per_day * share, key),
        query("queries over logical partitions", per_day * (1.0 - share), &BTreeMap::new()),
    ];
    kinds.into_iter().filter(|kind| kind.per_day() > Some(0.0)).collect()
}

/// Returns the queries by their texts. `queries` is their number, where it is known.
fn by_text(tables: &TrafficTables, queries: f64, days: f64) -> Vec<RequestKind> {
    let all: f64 = tables.texts.values().map(super::tables::QueryText::executions).sum();
    let factor = if queries > 0.0 { queries / all } else { 1.0 } / days;
    let mut kinds: Vec<RequestKind> = Vec::new();
    for (text, rows) in &tables.texts {
        let per_day = rows.executions() * factor;
        let found = queries::filters(text);
        let name = name(&found);
        match kinds.iter_mut().find(|kind| kind.kind == name) {
            Some(kind) => {
                let per_day = kind.per_day().unwrap_or_default() + per_day;
                kind.frequency = Some(RequestFrequency { per_day });
            }
            None => kinds.push(of_text(name, found, per_day)),
        }
    }
    kinds
}

/// Returns the name of a kind: whole, since two kinds may differ in its last word only.
fn name(found: &QueryFilters) -> String {
    let list = |paths: &[PropertyPath]| {
        paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let mut name = vec![if found.sums_up { "count" } else { "query" }.to_owned()];
    if !found.equal.is_empty() {
        name.push(format!(" by {}", list(&found.equal)));
    }
    if !found.ranges.is_empty() {
        name.push(format!(" in a range of {}", list(&found.ranges)));
    }
    if found.equal.is_empty() && found.ranges.is_empty() {
        name.push(" without a certain filter".to_owned());
    }
    if let Some(order) = &found.order {
        name.push(format!(", ordered by {}", String::from(order.clone())));
    }
    name.concat()
}

fn of_text(name: String, found: QueryFilters, per_day: f64) -> RequestKind {
    // No text tells the length of a range: it is left out, which is the more careful.
    let filters = found.equal.into_iter().map(|path| (path, RequestFilter::Drawn)).collect();
    RequestKind {
        filters,
        limit: found.limit,
        order_by: found.order.filter(|_| !found.sums_up),
        select: if found.sums_up {
            QuerySelection::Aggregate(QueryAggregate::Count)
        } else {
            QuerySelection::Items
        },
        ..kind(name, RequestOperation::Query, per_day)
    }
}

fn kind(name: String, operation: RequestOperation, per_day: f64) -> RequestKind {
    RequestKind {
        kind: name,
        operation,
        filters: BTreeMap::new(),
        limit: None,
        order_by: None,
        select: QuerySelection::Items,
        set: Vec::new(),
        writes: Vec::new(),
        // The measurement is no more precise than a hundredth of a request a day.
        frequency: Some(RequestFrequency { per_day: (per_day * 100.0).round() / 100.0 }),
    }
}
