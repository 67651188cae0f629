//! ORDER BY RANK: an order by full-text scores and by the similarity of vectors.

use std::borrow::Cow;

use cosmos_model::sql::{Expr, Order, Query};

use crate::{Refusal, json::Json};

use super::{
    Parameters,
    compile::{Compiler, is_vector_distance, missing, sums_up},
    eval::{Frame, Run},
    refused,
};

/// The most scores, and the most terms of one. A plan has each score for each score.
const MOST: usize = 32;

/// Takes ORDER BY RANK apart: the scores become the values of ORDER BY, the greatest ones first, or the least ones for a
/// negative weight. Returns the weights, if the text has some.
///
/// # Errors
/// 400 for what is no score, for weights that do not fit, and for clauses that this store does not rank.
pub(super) fn take_apart(
    mut query: Query,
    parameters: &Parameters,
) -> Result<(Query, Vec<f64>), Refusal> {
    if !query.by_rank {
        return Ok((query, Vec::new()));
    }
    let sums_up = query.select.values().into_iter().any(sums_up);
    for (is_there, clause) in [
        (query.distinct, "DISTINCT"),
        (!query.group_by.is_empty() || sums_up, "An aggregate or GROUP BY"),
        (query.root().is_none() || query.from.len() > 1, "JOIN"),
        (query.order_by.len() > 1, "A second order"),
    ] {
        if is_there {
            return Err(missing(&format!("{clause} with ORDER BY RANK")));
        }
    }
    let Some(Order { by, has_direction: false, .. }) = query.order_by.first() else {
        let message =
            "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.";
        return Err(refused("", message, None));
    };
    let mut scores = match by {
        Expr::Call(name, scores) if name == "RRF" => scores.as_slice(),
        score => std::slice::from_ref(score),
    };
    let mut weights = Vec::new();
    if let Some((list @ (Expr::Array(_) | Expr::Parameter(_)), rest)) = scores.split_last() {
        let numbers = match constant(list, parameters) {
            Some(Json::Array(numbers)) => numbers.iter().map(Json::as_f64).collect(),
            _ => None,
        };
        weights = numbers.filter(|all: &Vec<f64>| all.len() == rest.len()).ok_or_else(|| {
            let message = "The weights of RRF have to be an array with a number for each score.";
            refused("", message, None)
        })?;
        scores = rest;
    }
    if !(1..=MOST).contains(&scores.len()) {
        return Err(refused("", "RRF takes, in this store, 1 to 32 scores.", None));
    }
    let weight = |n: usize| weights.get(n).copied().unwrap_or(1.0);
    let orders = scores.iter().enumerate().map(|(n, by)| {
        Ok(Order { by: score(by, parameters)?, descending: weight(n) >= 0.0, has_direction: true })
    });
    query.order_by = orders.collect::<Result<_, Refusal>>()?;
    Ok((query, weights.into_iter().map(f64::abs).collect()))
}

/// Returns a score in the form of the service's plans, as a function that is greater for what is better.
fn score(of: &Expr, parameters: &Parameters) -> Result<Expr, Refusal> {
    let is_text = |term| matches!(constant(term, parameters), Some(Json::Text(_)));
    let message = match of {
        Expr::Call(_, arguments) if is_vector_distance(of) => {
            return Ok(Expr::Call("_VECTORSCORE".to_owned(), arguments.clone()));
        }
        Expr::Call(name, arguments) if name == "FULLTEXTSCORE" => match arguments.as_slice() {
            [path @ Expr::Member(..), terms @ ..]
                if (1..=MOST).contains(&terms.len()) && terms.iter().all(is_text) =>
            {
                let arguments = vec![path.clone(), Expr::Array(terms.to_vec())];
                return Ok(Expr::Call("_FULLTEXTSCORE".to_owned(), arguments));
            }
            _ => {
                "FullTextScore takes a path and, in this store, 1 to 32 texts: no arrays, no fuzzy terms."
            }
        },
        _ => "ORDER BY RANK takes FullTextScore, or RRF of FullTextScore and VectorDistance.",
    };
    Err(refused("", message, None))
}

/// Returns whether an expression is an order that no index has.
pub(crate) fn is_score(expr: &Expr) -> bool {
    is_vector_distance(expr)
        || matches!(expr, Expr::Call(name, _) if name == "_FULLTEXTSCORE" || name == "_VECTORSCORE")
}

fn constant(expr: &Expr, parameters: &Parameters) -> Option<Json> {
    let node = Compiler::new("", parameters).expr(expr).ok()?;
    node.eval(&Frame::of(&Json::Null, &Run::new(0))).map(Cow::into_owned)
}
