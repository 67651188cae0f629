//! Kinds of requests from the sums of the traffic.

use std::collections::BTreeMap;

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

use super::{
    queries::{self, QueryFilters},
    tables::TrafficTables,
};
use crate::request::{
    QueryAggregate, QuerySelection, RequestFilter, RequestFrequency, RequestKind,
    RequestOperation::{self, Create, Delete, Patch, Query, Read, Replace, Transaction, Upsert},
    TransactionStep,
};

/// Without the change feed and scripts, which are no requests of an app.
const OPERATIONS: [(&str, RequestOperation, &str); 11] = [
    ("read", Read, "reads of an item"),
    ("head", Read, "reads of an item"),
    ("query", Query, "queries"),
    ("sqlquery", Query, "queries"),
    ("create", Create, "creates"),
    ("upsert", Upsert, "upserts"),
    ("replace", Replace, "replaces"),
    ("update", Replace, "replaces"),
    ("patch", Patch, "patches"),
    ("delete", Delete, "deletes"),
    ("batch", Transaction, "transactions"),
];

type Filters = BTreeMap<PropertyPath, RequestFilter>;

pub(super) fn kinds(
    tables: &TrafficTables,
    days: f64,
    current: Option<&KeyStrategy>,
) -> Vec<RequestKind> {
    let parts = current.iter().flat_map(|key| key.parts());
    let key: Filters = parts.map(|part| (part.path().clone(), RequestFilter::Drawn)).collect();
    let mut kinds = Vec::new();
    for (name, requests) in &tables.operations {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches("document");
        let known = OPERATIONS.into_iter().find(|(known, ..)| *known == name);
        let Some((_, operation, name)) = known else { continue };
        let per_day = *requests / days;
        if operation != Query {
            let mut filters = key.clone();
            filters.insert(PropertyPath::from_name("id"), RequestFilter::Drawn);
            let mut kind = kind(name, operation, filters, per_day);
            if operation == Transaction {
                // The rows do not tell its writes: two are the fewest that need one.
                kind.writes = vec![TransactionStep { items: 2, ..TransactionStep::new(Create) }];
            }
            kinds.push(kind);
        } else if tables.texts.is_empty() {
            kinds.extend(queries(tables, per_day, &key));
        } else {
            kinds.extend(by_text(tables, *requests, days));
        }
    }
    if kinds.iter().all(|kind| kind.operation != Query) {
        kinds.extend(by_text(tables, 0.0, days));
    }
    kinds
}

fn queries(tables: &TrafficTables, per_day: f64, key: &Filters) -> Vec<RequestKind> {
    let query =
        |name, filters: &Filters, share: f64| kind(name, Query, filters.clone(), per_day * share);
    let none = Filters::new();
    let Some(share) = tables.queries_in_one_partition() else {
        return vec![query("queries", &none, 1.0)];
    };
    let kinds = [
        query("queries in one logical partition", key, share),
        query("queries over logical partitions", &none, 1.0 - share),
    ];
    kinds.into_iter().filter(|kind| kind.per_day() > Some(0.0)).collect()
}

/// `queries` is their number, where it is known.
fn by_text(tables: &TrafficTables, queries: f64, days: f64) -> Vec<RequestKind> {
    let all: f64 = tables.texts.values().sum();
    let factor = if queries > 0.0 { queries / all } else { 1.0 } / days;
    let mut kinds: Vec<RequestKind> = Vec::new();
    for (text, executions) in &tables.texts {
        let kind = of_text(queries::filters(text), executions * factor);
        match kinds.iter_mut().find(|other| other.kind == kind.kind) {
            Some(other) => {
                let per_day = [&*other, &kind].into_iter().filter_map(RequestKind::per_day).sum();
                other.frequency = Some(RequestFrequency { per_day });
            }
            None => kinds.push(kind),
        }
    }
    kinds
}

/// Returns the kind of a text. Its name is whole, since two kinds may differ in its last word only.
fn of_text(found: QueryFilters, per_day: f64) -> RequestKind {
    let mut name = if found.sums_up { "count" } else { "query" }.to_owned();
    for (words, paths) in [(" by ", &found.equal), (" in a range of ", &found.ranges)] {
        if !paths.is_empty() {
            let paths: Vec<_> = paths.iter().map(ToString::to_string).collect();
            name = name + words + &paths.join(", ");
        }
    }
    if found.equal.is_empty() && found.ranges.is_empty() {
        name += " without a certain filter";
    }
    if let Some(because) = found.undecided {
        name = format!("{name} (its text has {because})");
    }
    if let Some(order) = &found.order {
        name = format!("{name}, ordered by {}", String::from(order.clone()));
    }
    // No text tells the length of a range: it is left out, which is the more careful.
    let filters = found.equal.into_iter().map(|path| (path, RequestFilter::Drawn)).collect();
    let count = QuerySelection::Aggregate(QueryAggregate::Count);
    RequestKind {
        limit: found.limit,
        order_by: found.order.filter(|_| !found.sums_up),
        select: if found.sums_up { count } else { QuerySelection::Items },
        ..kind(&name, Query, filters, per_day)
    }
}

fn kind(name: &str, operation: RequestOperation, filters: Filters, per_day: f64) -> RequestKind {
    // The measurement is no more precise than a hundredth of a request a day.
    let frequency = Some(RequestFrequency { per_day: (per_day * 100.0).round() / 100.0 });
    RequestKind { kind: name.to_owned(), operation, filters, frequency, ..RequestKind::default() }
}
