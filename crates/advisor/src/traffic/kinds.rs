//! Kinds of requests from the sums of the traffic.

use std::collections::BTreeMap;

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

use super::{
    calibration::{ChargedRequests, ChargedSubject},
    queries::{self, QueryFilters},
    tables::{ChargeSum, QueryText, TrafficTables},
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
    for (name, sum) in &tables.operations {
        match operation(name) {
            Some(RequestOperation::Query) if tables.texts().next().is_some() => {
                kinds.extend(by_text(tables, *sum, days));
            }
            Some(RequestOperation::Query) => kinds.extend(queries(tables, name, *sum, days, &key)),
            Some(operation) => kinds.push(point(operation, *sum, days, &key)),
            // The change feed and scripts: no request of an app.
            None => {}
        }
    }
    if kinds.iter().all(|kind| kind.operation != RequestOperation::Query) {
        kinds.extend(by_text(tables, ChargeSum::default(), days));
    }
    kinds
}

/// Returns the charge a day of each operation, each kind of query by its text, and each function.
pub(super) fn charged(tables: &TrafficTables, days: f64) -> Vec<ChargedRequests> {
    let operations = tables.operations.iter().filter_map(|(name, sum)| {
        Some((ChargedSubject::Operation(operation(name)?), sum.request_units))
    });
    let texts = tables.texts().map(|(text, _, request_units)| {
        (ChargedSubject::Kind(name(&queries::filters(text))), request_units)
    });
    let functions = tables
        .functions()
        .map(|(function, sum)| (ChargedSubject::Kind(function.to_owned()), sum.request_units));
    let mut charged: Vec<ChargedRequests> = Vec::new();
    for (of, request_units) in operations.chain(texts).chain(functions) {
        let request_units_per_day = request_units / days;
        match charged.iter_mut().find(|one| one.of == of) {
            Some(one) => one.request_units_per_day += request_units_per_day,
            None => charged.push(ChargedRequests { of, request_units_per_day }),
        }
    }
    charged
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
    sum: ChargeSum,
    days: f64,
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
    RequestKind { filters, writes, ..kind(name.to_owned(), operation, sum.requests / days) }
}

/// Returns the queries that stay in one logical partition, and the others.
fn queries(
    tables: &TrafficTables,
    name: &str,
    sum: ChargeSum,
    days: f64,
    key: &BTreeMap<PropertyPath, RequestFilter>,
) -> Vec<RequestKind> {
    let per_day = sum.requests / days;
    let query =
        |name: &str, per_day, filters: &BTreeMap<PropertyPath, RequestFilter>| RequestKind {
            filters: filters.clone(),
            ..kind(name.to_owned(), RequestOperation::Query, per_day)
        };
    let Some(one) = tables.in_one_partition(name) else {
        return vec![query("queries", per_day, &BTreeMap::new())];
    };
    let kinds = [
        query("queries in one logical partition", per_day * one, key),
        query("queries over logical partitions", per_day * (1.0 - one), &BTreeMap::new()),
    ];
    kinds.into_iter().filter(|kind| kind.per_day() > Some(0.0)).collect()
}

/// Returns the queries by their texts. `sum` is their number, where it is known.
fn by_text(tables: &TrafficTables, sum: ChargeSum, days: f64) -> Vec<RequestKind> {
    let rows: f64 = tables.texts().map(|(_, text, _)| executions(text)).sum();
    let mut kinds: Vec<RequestKind> = Vec::new();
    for (text, executions) in tables.texts().map(|(text, of, _)| (text, executions(of))) {
        let requests =
            if sum.requests > 0.0 { sum.requests * executions / rows } else { executions };
        let found = queries::filters(text);
        let name = name(&found);
        match kinds.iter_mut().find(|kind| kind.kind == name) {
            Some(kind) => {
                let per_day = kind.per_day().unwrap_or_default() + requests / days;
                kind.frequency = Some(RequestFrequency { per_day });
            }
            None => kinds.push(of_text(name, found, requests / days)),
        }
    }
    kinds
}

/// Returns the number of queries of a text, by its rows.
fn executions(text: &QueryText) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "at most 100")]
    let queries = text.queries.len() as f64;
    if queries > 0.0 && queries < 100.0 { queries } else { text.rows }
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
