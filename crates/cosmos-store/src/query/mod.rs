//! Pages of a query over an engine, and the plans that SDKs ask for.

use cosmos_model::sql::{Count, Expr, Order, Query};

use crate::{
    Refusal,
    engine::{ContainerId, Definition, EpkRange, View},
    json::Json,
    sql::{Parameters, Prepared},
};

pub mod hybrid_row;
mod keys;
pub mod plan;

/// A page of a query.
#[derive(Debug)]
pub struct Page {
    /// The results, as text JSON each.
    pub results: Vec<Vec<u8>>,
    /// Where the next page begins; `None` at the end.
    pub continuation: Option<String>,
    /// What the store touched for it.
    pub work: Work,
}

/// What the store touched for a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Values and ranges that were looked up in an index.
    pub seeks: u32,
    /// Items that were loaded, returned or not.
    pub items_loaded: u32,
    /// Their size.
    pub bytes_loaded: usize,
}

/// What a page is asked for.
pub struct PageRequest<'a> {
    /// The container.
    pub container: ContainerId,
    /// The part of the hash space: that of a logical partition, of a prefix, of a physical partition, or all.
    pub range: EpkRange,
    /// The most results; `None` lets the store choose.
    pub max_items: Option<u32>,
    /// Where the page before has ended.
    pub continuation: Option<&'a str>,
    /// The value and the `_rid` with which an SDK goes on that merges partitions itself.
    pub resume: Option<ResumeFilter>,
}

/// `resumeFilter` of a query request: `{"value": [2], "rid": "…", "exclude": false}`.
#[derive(Clone, Debug)]
pub struct ResumeFilter {
    /// The last values of ORDER BY.
    pub value: Vec<Json>,
    /// The `_rid` of the last item.
    pub rid: Option<String>,
    /// True if that item was returned.
    pub exclude: bool,
}

/// Returns a page: at most 4 MB, and at least one result unless the query has ended.
///
/// # Errors
/// 400 for a continuation that is none, and for an ORDER BY of several properties without its composite index.
pub fn page(view: &View, query: &Prepared, request: &PageRequest<'_>) -> Result<Page, Refusal> {
    let _ = (view, query, request, Parameters::new());
    todo!()
}

/// Returns the value of an expression of constants.
fn constant(prepared: &Prepared, expr: &Expr) -> Option<Json> {
    match expr {
        Expr::Parameter(name) => {
            let mut parameters = prepared.parameters.iter();
            Some(parameters.find(|(other, _)| other == name)?.1.clone())
        }
        Expr::Literal(serde_json::Value::String(text)) => Some(Json::Text(text.as_str().into())),
        Expr::Literal(serde_json::Value::Number(number)) => Some(Json::Number(number.as_f64()?)),
        Expr::Literal(serde_json::Value::Bool(value)) => Some(Json::Bool(*value)),
        Expr::Literal(serde_json::Value::Null) => Some(Json::Null),
        _ => None,
    }
}

/// Returns a number of items.
fn count(prepared: &Prepared, count: &Count) -> Option<u32> {
    match count {
        Count::Literal(number) => Some(*number),
        Count::Parameter(name) => match constant(prepared, &Expr::Parameter(name.clone()))? {
            Json::Number(number) => Some(number as u32),
            _ => None,
        },
    }
}

/// Returns true for an order by a distance, which no index has.
fn is_by_distance(query: &Query) -> bool {
    let by = query.order_by.first().map(|order| &order.by);
    matches!(by, Some(Expr::Call(name, _)) if name == "VECTORDISTANCE")
}

/// Returns true if the highest values come first. Of a distance those are the most similar ones: the highest for
/// cosine and dot product.
fn order_is_descending(order: &Order, definition: &Definition) -> bool {
    let Expr::Call(name, arguments) = &order.by else { return order.descending };
    if name != "VECTORDISTANCE" {
        return order.descending;
    }
    let paths: Vec<String> =
        arguments.iter().filter_map(Expr::property).map(|(_, path)| path.to_string()).collect();
    let of_policy = definition.json["vectorEmbeddingPolicy"]["vectorEmbeddings"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|embedding| paths.iter().any(|path| embedding["path"] == path.as_str()))
        .and_then(|embedding| embedding["distanceFunction"].as_str());
    of_policy != Some("euclidean")
}
