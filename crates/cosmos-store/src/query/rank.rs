//! Queries with ORDER BY RANK.
//!
//! The rank of an item for each score makes its place (reciprocal rank fusion). A full-text score needs statistics of all
//! texts. For several partitions both are the SDK's business, by a plan with the forms of the .NET SDK's tests
//! (`QueryPlanRetrieverTests`). For one part of a container the store does the same by itself.

use cosmos_model::sql::{Binary, Count, Expr, Logical, Order, Query, Select};
use serde_json::{Value, json};

use super::{
    PageRequest, Path,
    page::{Limits, page_within},
    plan::{FILTER, plan},
};
use crate::{
    Refusal,
    engine::{ContainerId, Definition, View},
    json::Json,
    sql::{Prepared, columns},
};

/// The constant of reciprocal rank fusion.
const FUSION: f64 = 60.0;

/// The fewest items of a partition that are ranked by a score.
const MIN_RANKED: u32 = 120;

/// The score of an item that has none.
const NO_SCORE: f64 = -1.79769e308;

/// Returns `hybridSearchQueryInfo` of a plan.
pub(super) fn info(
    view: &View,
    container: ContainerId,
    query: &Prepared,
    definition: &Definition,
) -> Result<Value, Refusal> {
    // What the SDK writes into the text is a parameter whose value does not count.
    let mut parameters = query.parameters.clone();
    let mut placeholder = |name: String| {
        let name = format!("{{documentdb-formattablehybridsearchquery-{name}}}");
        parameters.push((name.clone(), Json::Null));
        Expr::Parameter(name)
    };
    let n_texts = placeholder("totaldocumentcount".to_owned());
    let scores = scores(&query.query, &n_texts, |n| {
        ["totalwordcount", "hitcountsarray"].map(|name| placeholder(format!("{name}-{n}")))
    });
    let (skip, take) = match query.plan.offset_limit {
        Some((skip, take)) => (Some(skip), Some(take)),
        None => (None, query.plan.top),
    };
    let n_needed = skip.unwrap_or_default().saturating_add(take.unwrap_or_default());
    let of_score = |score: &Order| {
        let n_ranked = n_needed.max(MIN_RANKED);
        let component = component(&query.query, &scores, score, n_ranked);
        let component = Prepared::of(component, parameters.clone())?;
        let features = "NonStreamingOrderBy, OrderBy, Top";
        let mut plan = plan(view, container, &component, definition, features)?;
        let mut info = plan["queryInfo"].take();
        // No partition goes on with it.
        let text = info["rewrittenQuery"].as_str().unwrap_or_default();
        info["rewrittenQuery"] = text.replace(FILTER, "true").into();
        Ok::<_, Refusal>(info)
    };
    Ok(json!({
        "globalStatisticsQuery": statistics(&query.query).to_string(),
        "componentQueryInfos": scores.iter().map(of_score).collect::<Result<Vec<_>, _>>()?,
        "componentWithoutPayloadQueryInfos": [],
        "projectionQueryInfo": null,
        "componentWeights": (!query.weights.is_empty()).then_some(&query.weights),
        "skip": skip,
        "take": take,
        "requiresGlobalStatistics": scores.iter().any(|score| full_text(&score.by).is_some()),
    }))
}

/// Returns the query for the items of a partition that are best by one score.
fn component(query: &Query, scores: &[Order], score: &Order, n_ranked: u32) -> Query {
    let mut filter = query.filter.clone();
    let payload = match &query.select {
        Select::All => Expr::Name(query.root().unwrap_or_default().to_owned()),
        Select::Value(value) => {
            let is_defined = call("IS_DEFINED", vec![value.clone()]);
            filter = Some(match filter {
                Some(filter) => Expr::Logical(Logical::And, vec![filter, is_defined]),
                None => is_defined,
            });
            value.clone()
        }
        list @ Select::List(_) => {
            let columns = columns(list).into_iter();
            Expr::Object(columns.map(|(name, column)| (name, column.clone())).collect())
        }
    };
    let number = |score: &Order| {
        let none = Expr::Literal(NO_SCORE.into());
        Expr::Binary(Binary::Coalesce, Box::new(score.by.clone()), Box::new(none))
    };
    Query {
        top: Some(Count::Literal(n_ranked)),
        select: Select::List(vec![
            (payload, Some("payload".to_owned())),
            (Expr::Array(scores.iter().map(number).collect()), Some("componentScores".to_owned())),
        ]),
        filter,
        order_by: vec![score.clone()],
        by_rank: false,
        offset_limit: None,
        ..query.clone()
    }
}

/// Returns the query for the statistics of a part of a container, whatever the filter is.
fn statistics(query: &Query) -> Query {
    let of_text = |score: &Order| {
        let (path, terms) = full_text(&score.by)?;
        let words = call("SUM", vec![call("_FULLTEXTWORDCOUNT", vec![path.clone()])]);
        let hits = terms.iter().map(|term| {
            let contains = call("FULLTEXTCONTAINS", vec![path.clone(), term.clone()]);
            call("COUNTIF", vec![contains])
        });
        let hits = Expr::Array(hits.collect());
        Some(Expr::Object(vec![
            ("totalWordCount".to_owned(), words),
            ("hitCounts".to_owned(), hits),
        ]))
    };
    let texts = Expr::Array(query.order_by.iter().filter_map(of_text).collect());
    let count = call("COUNT", vec![Expr::Literal(1.into())]);
    Query {
        top: None,
        select: Select::List(vec![
            (count, Some("documentCount".to_owned())),
            (texts, Some("fullTextStatistics".to_owned())),
        ]),
        filter: None,
        order_by: Vec::new(),
        by_rank: false,
        offset_limit: None,
        ..query.clone()
    }
}

fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call(name.to_owned(), arguments)
}

/// Returns the path and the terms of a full-text score.
fn full_text(score: &Expr) -> Option<(&Expr, &[Expr])> {
    match score {
        Expr::Call(name, arguments) if name == "_FULLTEXTSCORE" => match arguments.as_slice() {
            [path, Expr::Array(terms), ..] => Some((path, terms)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the scores of a query with the statistics: the number of texts, and of each full-text score the number of all
/// words and of the texts that have each term.
fn scores(
    query: &Query,
    n_texts: &Expr,
    mut of_text: impl FnMut(usize) -> [Expr; 2],
) -> Vec<Order> {
    let mut scores = query.order_by.clone();
    let full_texts = scores.iter_mut().filter(|score| full_text(&score.by).is_some());
    for (n, score) in full_texts.enumerate() {
        if let Expr::Call(_, arguments) = &mut score.by {
            arguments.push(n_texts.clone());
            arguments.extend(of_text(n));
        }
    }
    scores
}

/// Returns a query with ORDER BY RANK with the statistics of the part of the container that it is for; `None` for
/// another query.
pub(super) fn with_statistics(
    limits: Limits,
    view: &View,
    query: &Prepared,
    request: &PageRequest<'_>,
) -> Result<Option<Prepared>, Refusal> {
    if !query.query.by_rank {
        return Ok(None);
    }
    let statistics = Prepared::of(statistics(&query.query), query.parameters.clone())?;
    let range = request.range.clone();
    let request =
        PageRequest { max_items: None, continuation: None, resume: None, range, ..*request };
    let page = page_within(limits, view, &statistics, &request)?;
    let found = page.results.first().and_then(|result| serde_json::from_slice(result).ok());
    let found: Value = found.unwrap_or_default();
    let n_texts = Expr::Literal(found["documentCount"].clone());
    let order_by = scores(&query.query, &n_texts, |n| {
        let of_text = &found["fullTextStatistics"][n];
        ["totalWordCount", "hitCounts"].map(|name| Expr::Literal(of_text[name].clone()))
    });
    Prepared::of(Query { order_by, ..query.query.clone() }, query.parameters.clone()).map(Some)
}

/// A result with its scores and the number of its item.
pub(super) type Scored = (Vec<Option<Json>>, u64, Vec<u8>);

/// Sorts results by their ranks for each score, as SDKs do it.
pub(super) fn fused(
    mut results: Vec<Scored>,
    orders: &[(Path, bool)],
    weights: &[f64],
) -> Vec<Scored> {
    results.sort_by_key(|(_, rid, _)| *rid);
    let mut sums = vec![0.0; results.len()];
    for (n, (_, descends)) in orders.iter().enumerate() {
        let weight = weights.get(n).copied().unwrap_or(1.0);
        let scores = results.iter().map(|(scores, ..)| {
            let score = scores.get(n).and_then(Option::as_ref).and_then(Json::as_f64);
            if *descends { -score.unwrap_or(NO_SCORE) } else { score.unwrap_or(NO_SCORE) }
        });
        let mut scores: Vec<_> = scores.zip(&mut sums).collect();
        scores.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut rank = 0.0;
        for equal in scores.chunk_by_mut(|(one, _), (other, _)| one.total_cmp(other).is_eq()) {
            rank += 1.0;
            for (_, sum) in equal {
                **sum += weight / (FUSION + rank);
            }
        }
    }
    let mut fused: Vec<_> = results.into_iter().zip(sums).collect();
    fused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    fused.into_iter().map(|(result, _)| result).collect()
}
