//! What an expression of a query is for an item.
//!
//! `None` is the value *undefined*: of a missing property, or of an operator whose operands have the wrong types.
//!
//! A query is compiled once ([`Prepared::new`]): names become places, constants become values. An evaluation is bounded:
//! one item costs at most [`MAX_STEPS`] steps and [`MAX_BYTES`] bytes, then the query is refused.

use std::sync::OnceLock;

use cosmos_model::sql::{Expr, Query};

use crate::{Refusal, Result, json::Json};

mod compile;
mod eval;
mod functions;
mod groups;
mod operators;
mod plan;
mod rank;
#[cfg(test)]
pub(crate) mod tests;

use compile::Compiler;
pub(crate) use compile::{NO_PATH, columns, sums_up};
use eval::{Frame, Run};
pub(crate) use groups::{Groups, aggregate_type};
use plan::Plan;
pub(crate) use rank::is_score;

/// The steps that the evaluation of one item may take. Unit tests, which are not optimized, reach a tenth of them.
pub(crate) const MAX_STEPS: usize = if cfg!(test) { 400_000 } else { 4_000_000 };

/// The bytes that the values of one item may take on the way.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// The parameters of a query: their names, with `@`, and their values.
pub(crate) type Parameters = Vec<(String, Json)>;

/// A query that has been checked: every name is that of a source, every function is known and has the right number
/// of arguments, TOP, OFFSET and LIMIT are numbers.
pub(crate) struct Prepared {
    /// The query.
    pub query: Query,
    /// Its parameters.
    pub parameters: Parameters,
    pub(crate) plan: Plan,
    /// How much each score of ORDER BY RANK counts, if the text says so.
    pub weights: Vec<f64>,
    needed: Option<Vec<Box<str>>>,
    /// When the query began, for the static functions of the time.
    began: OnceLock<i64>,
}

impl Prepared {
    /// Parses and checks a query. Errors: 400 with the service's text: SC1001 for a syntax error, SC2001 for an
    /// unknown identifier, SC2005 for a function that the service does not have; and a text of our own, with the
    /// name, for what the service has but this store has not.
    pub(crate) fn new(text: &str, parameters: Parameters) -> Result<Self> {
        let query: Query = text.parse().map_err(|error: cosmos_model::sql::SyntaxError| {
            let end = error.at.saturating_add(error.near.len());
            refused("SC1001", &error.to_string(), Some((error.at, end)))
        })?;
        let (query, weights) = rank::take_apart(query, &parameters)?;
        Ok(Self { weights, ..Self::compile(text, query, parameters)? })
    }

    /// Checks a query that was parsed or changed before; its errors have no locations. Errors: as [`Prepared::new`].
    pub(crate) fn of(query: Query, parameters: Parameters) -> Result<Self> {
        Self::compile("", query, parameters)
    }

    fn compile(text: &str, query: Query, parameters: Parameters) -> Result<Self> {
        let mut compiler = Compiler::new(text, &parameters);
        let plan = compiler.query(&query)?;
        let needed = compiler.needed();
        Ok(Self { query, parameters, plan, weights: Vec::new(), needed, began: OnceLock::new() })
    }

    /// Returns the values that the query makes of one item, before DISTINCT, GROUP BY, ORDER BY, TOP and OFFSET: one
    /// for each combination of JOIN that passes the filter. A query without FROM makes one row in all: it is for the
    /// caller to ask once ([`Prepared::has_source`]). Errors: 400 if the item costs too much.
    pub(crate) fn rows(&self, item: &Json) -> Result<Vec<Row>> {
        let run = Run::new(*self.began.get_or_init(functions::now));
        let mut rows = Vec::new();
        self.plan.each(&Frame::of(item, &run), &mut |at| {
            let Some(row) = self.plan.row(at) else { return false };
            rows.push(row);
            true
        });
        run.within_limits(rows)
    }

    /// Returns whether the query has FROM. Without it, it makes one row in all, not one for each item.
    pub(crate) fn has_source(&self) -> bool {
        !self.query.from.is_empty()
    }

    /// Returns of each value of ORDER BY whether the greatest ones come first: DESC, or the similarity of vectors.
    pub(crate) fn descending(&self) -> Vec<bool> {
        self.plan.order.iter().map(|(_, descends)| *descends).collect()
    }

    /// Returns the value of an expression of this query that needs no item: a literal, a parameter, or what is made of
    /// them.
    pub(crate) fn value_of(&self, expr: &Expr) -> Option<Json> {
        let node = Compiler::new("", &self.parameters).expr(expr).ok()?;
        let run = Run::new(*self.began.get_or_init(functions::now));
        let value = node.eval(&Frame::of(&Json::Null, &run))?.into_owned();
        Some(value)
    }

    /// Returns the names of the properties of an item that the query needs; `None` for all.
    pub(crate) fn needed(&self) -> Option<Vec<&str>> {
        self.needed.as_ref().map(|names| names.iter().map(|name| &**name).collect())
    }
}

/// What a query makes of one item.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The values of ORDER BY; of a query with aggregates or GROUP BY none.
    pub order: Vec<Option<Json>>,
    /// The values of GROUP BY.
    pub group: Vec<Option<Json>>,
    /// The arguments of the aggregates, in their order in the text.
    pub aggregates: Vec<Option<Json>>,
    /// The result; `None` where it is undefined, which leaves it out. Of a query with aggregates or GROUP BY it is
    /// made from the aggregates afterwards ([`Groups`]).
    pub result: Option<Json>,
}

/// Returns a refusal in the form of the service; without a code where the service's is not known.
pub(crate) fn refused(code: &str, message: &str, location: Option<(usize, usize)>) -> Refusal {
    let location = location.map_or_else(String::new, |(start, end)| {
        format!(r#""location":{{"start":{start},"end":{end}}},"#)
    });
    let code = if code.is_empty() { String::new() } else { format!(r#""code":"{code}","#) };
    let message = Json::text(message);
    Refusal::new(
        400,
        format!(r#"{{"errors":[{{"severity":"Error",{location}{code}"message":{message}}}]}}"#),
    )
}
