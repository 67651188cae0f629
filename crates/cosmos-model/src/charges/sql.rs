//! The work of a query by its tree.

use crate::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Query, Test},
};

const AGGREGATES: [&str; 5] = ["COUNT", "SUM", "AVG", "MIN", "MAX"];

/// The shape of a query.
#[derive(Debug, PartialEq)]
pub struct QueryShape {
    /// Values and ranges that the filter and the order look up in the index.
    pub seeks: u32,
    /// The properties that the filter compares by `=`.
    pub equalities: Vec<PropertyPath>,
}

/// Returns the shape of a query.
pub fn shape(query: &Query) -> QueryShape {
    let is_ordered = !query.order_by.is_empty();
    let mut equalities = Vec::new();
    if let Some(filter) = &query.filter {
        filter.visit(&mut |part| {
            if let Expr::Binary(Binary::Equal, left, _) = part {
                equalities.extend(left.property().map(|(_, path)| path));
            }
        });
    }
    QueryShape { seeks: query.filter.as_ref().map_or(0, seeks) + u32::from(is_ordered), equalities }
}

/// Returns true for a query whose result is computed from groups of items.
pub fn sums_up(query: &Query) -> bool {
    let mut found = !query.group_by.is_empty();
    for value in query.select.values() {
        value.visit(&mut |part| {
            found |= matches!(part, Expr::Call(name, _) if AGGREGATES.contains(&name.as_str()));
        });
    }
    found
}

/// Returns the number of look-ups: one for each comparison, each call of a function, each query within, and each
/// value of an IN.
fn seeks(filter: &Expr) -> u32 {
    let mut seeks = 0;
    filter.visit(&mut |part| {
        seeks += match part {
            Expr::Binary(operator, ..) => u32::from(operator.compares()),
            Expr::Call(..) => 1,
            Expr::Test(_, test, _) => match test.as_ref() {
                Test::In(values) => u32::try_from(values.len()).unwrap_or(u32::MAX),
                Test::Between(..) | Test::Like(..) => 1,
            },
            Expr::Query(_, query) => 1 + query.filter.as_ref().map_or(0, self::seeks),
            _ => 0,
        }
    });
    seeks
}

#[cfg(test)]
mod tests {
    use super::QueryShape;

    fn shape(text: &str) -> QueryShape {
        super::shape(&text.parse().unwrap())
    }

    #[test]
    fn a_filter_and_an_order_cost_look_ups() {
        for (text, seeks) in [
            ("SELECT * FROM c", 0),
            ("SELECT * FROM c WHERE c.a = 1", 1),
            ("SELECT * FROM c WHERE c.a = '= (' AND (c.b >= @b OR c.d < 3)", 3),
            ("SELECT * FROM c WHERE c.a IN (@a, 'b', \"c\") AND c.b = 1", 4),
            ("SELECT * FROM c WHERE IS_DEFINED(c.a) ORDER BY c.a DESC, c.b DESC", 2),
            ("SELECT c.a > 1 AS a FROM c WHERE NOT (c.a BETWEEN 1 AND 2)", 1),
        ] {
            assert_eq!(shape(text).seeks, seeks, "{text}");
        }
    }

    #[test]
    fn properties_that_are_compared_by_equality_are_found() {
        let equalities = |text: &str| -> Vec<String> {
            shape(text).equalities.iter().map(ToString::to_string).collect()
        };
        let text = "SELECT * FROM c /* WHERE c.x = 1 */ WHERE c.a.b = 1 AND (c.c > 2 OR c['d']= @d) -- AND c.y = 1\n \
                    ORDER BY c.e";
        assert_eq!(equalities(text), ["/a/b", "/d"]);
        assert_eq!(equalities("SELECT c.a = 1 AS x FROM c WHERE 1.5 = @p"), [""; 0]);
    }
}
