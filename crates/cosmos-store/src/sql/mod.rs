//! What an expression of a query is for an item.
//!
//! `None` is the value *undefined*: of a missing property, or of an operator whose operands have the wrong types.

use cosmos_model::sql::{Expr, Query};

use crate::{Refusal, json::Json};

/// The parameters of a query: their names, with `@`, and their values.
pub type Parameters = Vec<(String, Json)>;

/// A query that has been checked: every name is that of a source, every function is known and has the right number
/// of arguments, TOP, OFFSET and LIMIT are numbers.
pub struct Prepared {
    /// The query.
    pub query: Query,
    /// Its parameters.
    pub parameters: Parameters,
}

impl Prepared {
    /// Parses and checks a query.
    ///
    /// # Errors
    /// 400 with the service's text: SC1001 for a syntax error, SC2001 for an unknown identifier, SC2005 for a
    /// function that the service does not have; and a text of our own, with the name, for what the service has but
    /// this store has not.
    pub fn new(text: &str, parameters: Parameters) -> Result<Self, Refusal> {
        let _ = (text, parameters);
        todo!()
    }

    /// Returns the values that the query makes of one item, before DISTINCT, GROUP BY, ORDER BY, TOP and OFFSET: one
    /// for each combination of JOIN that passes the filter.
    pub fn rows(&self, item: &Json) -> Vec<Row> {
        let _ = item;
        todo!()
    }

    /// Returns the names of the properties of an item that the query needs; `None` for all.
    pub fn needed(&self) -> Option<Vec<&str>> {
        todo!()
    }
}

/// What a query makes of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The values of ORDER BY.
    pub order: Vec<Option<Json>>,
    /// The values of GROUP BY.
    pub group: Vec<Option<Json>>,
    /// The arguments of the aggregates, in their order in the text.
    pub aggregates: Vec<Option<Json>>,
    /// The result; `None` where it is undefined, which leaves it out. Of a query with aggregates or GROUP BY it is
    /// made from the aggregates afterwards ([`Groups`]).
    pub result: Option<Json>,
}

/// Sums rows up, for GROUP BY and aggregates.
pub struct Groups;

impl Groups {
    /// Begins with no rows.
    pub fn new(query: &Prepared) -> Self {
        let _ = query;
        todo!()
    }

    /// Adds a row.
    pub fn add(&mut self, query: &Prepared, row: Row) {
        let _ = (query, row);
        todo!()
    }

    /// Returns a result for each group, in the order of their first rows; without GROUP BY one for all.
    pub fn results(self, query: &Prepared) -> Vec<Json> {
        let _ = query;
        todo!()
    }
}

/// Returns whether an expression is true for an item: the condition of a patch, whose source has any name.
///
/// # Errors
/// As [`Prepared::new`].
pub fn is_true(condition: &Expr, source: &str, item: &Json) -> Result<bool, Refusal> {
    let _ = (condition, source, item);
    todo!()
}

/// Compares two values in the order of ORDER BY: undefined, null, false, true, numbers, texts by their code points,
/// arrays, objects.
pub fn order(one: Option<&Json>, other: Option<&Json>) -> std::cmp::Ordering {
    let _ = (one, other);
    todo!()
}
