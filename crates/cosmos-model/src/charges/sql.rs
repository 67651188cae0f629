//! The work of a query by its tree.

use crate::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Query, Select, Source, Test, Values},
};

const AGGREGATES: [&str; 5] = ["COUNT", "SUM", "AVG", "MIN", "MAX"];

/// The shape of a query.
#[derive(Debug, PartialEq)]
pub struct QueryShape {
    /// Values and ranges that the filter and the order look up in the index.
    pub seeks: u32,
    /// The same query with the whole items as its result. `None` where its result has them already, and with
    /// JOIN and OFFSET.
    pub whole_items: Option<Query>,
    /// True when the result sums items up, so that one page of it may come from all of them.
    pub sums_up: bool,
    /// True when the result is the first items in an order: each physical partition returns its own first ones.
    pub takes_first: bool,
    /// The properties that the filter compares by `=`.
    pub equalities: Vec<PropertyPath>,
}

/// Returns the shape of a query.
pub fn shape(query: &Query) -> QueryShape {
    let sums_up = query.distinct || sums_up(query);
    let is_plain = matches!(&query.from[..], [Source { values: Values::Path(..), .. }])
        && query.offset_limit.is_none();
    let whole_items = (query.select != Select::All && is_plain).then(|| Query {
        distinct: false,
        top: query.top.clone().filter(|_| !sums_up),
        select: Select::All,
        group_by: Vec::new(),
        order_by: if query.group_by.is_empty() { query.order_by.clone() } else { Vec::new() },
        ..query.clone()
    });
    let is_ordered = !query.order_by.is_empty();
    let mut equalities = Vec::new();
    if let Some(filter) = &query.filter {
        filter.visit(&mut |part| {
            if let Expr::Binary(Binary::Equal, left, _) = part {
                equalities.extend(left.property().map(|(_, path)| path));
            }
        });
    }
    QueryShape {
        seeks: query.filter.as_ref().map_or(0, seeks) + u32::from(is_ordered),
        whole_items,
        sums_up,
        takes_first: is_ordered
            && !sums_up
            && (query.top.is_some() || query.offset_limit.is_some()),
        equalities,
    }
}

/// Returns true for a query whose result is computed from groups of items.
pub fn sums_up(query: &Query) -> bool {
    let list: Vec<&Expr> = match &query.select {
        Select::All => Vec::new(),
        Select::Value(value) => vec![value],
        Select::List(list) => list.iter().map(|(value, _)| value).collect(),
    };
    let mut found = !query.group_by.is_empty();
    for value in list {
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

    /// An aggregate comes from all items that match the filter.
    #[test]
    fn a_projection_is_asked_again_for_the_items_behind_it() {
        for (text, sums_up, whole) in [
            ("SELECT * FROM c WHERE c.a = 1", false, None),
            ("select top 3 * from c", false, None),
            (
                "SELECT c.id FROM c WHERE c['from'] = 1",
                false,
                Some("SELECT * FROM c WHERE (c['from'] = 1)"),
            ),
            (
                "SELECT TOP @n (c.a = 'FROM' ? {b: c.b} : undefined) AS d FROM c ORDER BY c.a",
                false,
                Some("SELECT TOP @n * FROM c ORDER BY c.a"),
            ),
            ("SELECT TOP 1 VALUE c FROM c", false, Some("SELECT TOP 1 * FROM c")),
            ("SELECT c.id FROM c JOIN t IN c.tags", false, None),
            ("SELECT c.id FROM c OFFSET 2 LIMIT 3", false, None),
            (
                "SELECT VALUE COUNT(1) FROM c WHERE 1 = 1",
                true,
                Some("SELECT * FROM c WHERE (1 = 1)"),
            ),
            ("SELECT c.a, MAX(c.b) AS b FROM c GROUP BY c.a", true, Some("SELECT * FROM c")),
            ("SELECT DISTINCT TOP 2 VALUE c.a FROM c", true, Some("SELECT * FROM c")),
        ] {
            let shape = shape(text);
            let found = shape.whole_items.map(|whole| whole.to_string());
            assert_eq!((shape.sums_up, found.as_deref()), (sums_up, whole), "{text}");
        }
    }

    #[test]
    fn the_first_items_need_an_order_and_a_limit() {
        for (text, takes_first) in [
            ("SELECT TOP 3 * FROM c ORDER BY c.a", true),
            ("SELECT c.a FROM c WHERE c.b = 1 ORDER BY c.a DESC OFFSET 0 LIMIT 3", true),
            ("SELECT * FROM c ORDER BY c.a", false),
            ("SELECT TOP 3 * FROM c", false),
            ("SELECT DISTINCT TOP 3 VALUE c.a FROM c ORDER BY c.a", false),
        ] {
            assert_eq!(shape(text).takes_first, takes_first, "{text}");
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
