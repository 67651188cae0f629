//! The filters in the text of a query. One form tells them: comparisons of properties of the root with values, joined by
//! AND. Any other text is undecided: a half of it may mean the opposite.

use std::collections::BTreeSet;

use cosmos_model::charges::sql::sums_up;
use cosmos_model::partitioning::path::PropertyPath;
use cosmos_model::sql::{Binary, Count, Expr, Logical, Quantifier, Query, Test, Unary, Values};

use crate::request::OrderBy;

const UNREAD_PART: &str = "more than comparisons of properties with values";

#[derive(Debug, Default, PartialEq)]
pub(super) struct QueryFilters {
    pub(super) equal: BTreeSet<PropertyPath>,
    pub(super) ranges: BTreeSet<PropertyPath>,
    pub(super) order: Option<OrderBy>,
    pub(super) limit: Option<u32>,
    pub(super) sums_up: bool,
    /// What the text has that is not understood. All else is empty then.
    pub(super) undecided: Option<&'static str>,
}

pub(super) fn filters(text: &str) -> QueryFilters {
    let undecided = |because| QueryFilters { undecided: Some(because), ..QueryFilters::default() };
    let query = text.parse().map_err(|_| UNREAD_PART);
    query.and_then(|query| read(&query)).unwrap_or_else(undecided)
}

fn read(query: &Query) -> Result<QueryFilters, &'static str> {
    let order = query.order_by.first();
    let mut unread = None;
    for part in
        query.select.values().into_iter().chain(&query.filter).chain(order.map(|order| &order.by))
    {
        part.visit(&mut |part| unread = unread.or(is_unread(part)));
    }
    if let Some(unread) = unread {
        return Err(unread);
    }
    match &query.from[..] {
        [_, _, ..] => return Err("JOIN"),
        [source] if matches!(source.values, Values::Query(_)) => return Err("SELECT"),
        _ => {}
    }
    let root = query.root().ok_or(UNREAD_PART)?;
    let property =
        |value: &Expr| value.property().filter(|(alias, _)| *alias == root).map(|(_, path)| path);
    let limit = query.offset_limit.as_ref().map(|(_, limit)| limit).or(query.top.as_ref());
    let limit = limit.and_then(|limit| match limit {
        Count::Literal(limit) => Some(*limit),
        Count::Parameter(_) => None,
    });
    let mut found = QueryFilters {
        sums_up: sums_up(query),
        limit: limit.filter(|limit| *limit > 0),
        ..QueryFilters::default()
    };
    found.order = order.and_then(|order| {
        Some(OrderBy { path: property(&order.by)?, descending: order.descending })
    });
    let mut comparisons: Vec<&Expr> = query.filter.iter().collect();
    while let Some(comparison) = comparisons.pop() {
        match comparison {
            Expr::Logical(Logical::And, all) => comparisons.extend(all),
            Expr::Binary(operator, left, right) if operator.compares() => {
                let path = match (is_value(left), is_value(right)) {
                    (false, true) => property(left),
                    (true, false) => property(right),
                    _ => None,
                };
                let path = path.ok_or(UNREAD_PART)?;
                match operator {
                    Binary::Equal => found.equal.insert(path),
                    Binary::NotEqual => continue,
                    _ => found.ranges.insert(path),
                };
            }
            Expr::Test(of, test, _) => {
                let path = property(of).ok_or(UNREAD_PART)?;
                match test.as_ref() {
                    Test::In(values) if values.iter().all(is_value) => found.equal.insert(path),
                    Test::Between(from, to) if is_value(from) && is_value(to) => {
                        found.ranges.insert(path)
                    }
                    _ => return Err(UNREAD_PART),
                };
            }
            _ => return Err(UNREAD_PART),
        }
    }
    found.ranges.retain(|path| !found.equal.contains(path));
    Ok(found)
}

/// Returns the reason for which a part of an expression decides nothing; `None` for one that may be read.
fn is_unread(part: &Expr) -> Option<&'static str> {
    // A name such as `p1__12`.
    let is_obscured = |name: &String| {
        let numbers = name.strip_prefix('p').and_then(|rest| rest.split_once("__"));
        numbers.is_some_and(|(first, second)| format!("{first}{second}").parse::<u64>().is_ok())
    };
    let path = part.property().filter(|(_, path)| path.names().iter().any(is_obscured));
    match part {
        _ if path.is_some() => Some("names that the service obscured"),
        Expr::Logical(Logical::Or, _) => Some("OR"),
        Expr::Unary(Unary::Not, _) | Expr::Test(_, _, true) => Some("NOT"),
        Expr::Test(_, test, _) if matches!(**test, Test::Like(..)) => Some("LIKE"),
        Expr::Query(Quantifier::Exists, _) => Some("EXISTS"),
        Expr::Query(..) => Some("SELECT"),
        _ => None,
    }
}

fn is_value(value: &Expr) -> bool {
    matches!(value, Expr::Literal(_) | Expr::Parameter(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> BTreeSet<PropertyPath> {
        paths.iter().map(|path| path.parse().unwrap()).collect()
    }

    #[test]
    fn a_text_tells_its_filters_and_its_order() {
        let found = filters(
            "SELECT TOP 20 * FROM c WHERE c.userId = @user AND (('x OR y' = c.address.city) AND c.zip IN ('a', \"b\")) \
             AND c['createdAt'] >= -1.5 -- OR c.x = 1\n AND c.createdAt BETWEEN 1 AND @to AND c.zip > 'a' \
             AND c.state != null ORDER BY c.createdAt DESC, c.id",
        );
        assert_eq!(found.equal, paths(&["/userId", "/address/city", "/zip"]));
        assert_eq!(found.ranges, paths(&["/createdAt"]));
        assert_eq!(found.order.map(String::from), Some("/createdAt desc".to_owned()));
        assert_eq!((found.limit, found.sums_up, found.undecided), (Some(20), false, None));
        let text =
            "SELECT VALUE COUNT(1) FROM posts AS p WHERE (p.type = 'c.x = 1') /* OR p.y = 1 */";
        let found = filters(text);
        assert_eq!((found.equal, found.sums_up), (paths(&["/type"]), true));
        let found = filters("SELECT c.a AS count FROM c WHERE c.a = 1 OFFSET @n LIMIT 5");
        assert_eq!((found.equal, found.limit, found.sums_up), (paths(&["/a"]), Some(5), false));
        assert_eq!(filters("SELECT TOP 0 * FROM c"), QueryFilters::default());
    }

    #[test]
    fn another_text_is_undecided_and_says_why() {
        for (because, texts) in [
            ("OR", "c WHERE c.a = 1 OR c.b = 2 ORDER BY c.d"),
            ("NOT", "c WHERE NOT c.a = 1|c WHERE c.a NOT IN (1)"),
            ("JOIN", "c JOIN t IN c.tags WHERE t.name = 'x' AND c.a = 1"),
            ("SELECT", "(SELECT * FROM c) s WHERE s.a = 1"),
            ("EXISTS", "c WHERE c.a = 1 AND EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x')"),
            ("LIKE", "c WHERE c.a LIKE 'x%'"),
            (
                "names that the service obscured",
                "r1\nWHERE (r1[\"p1__12\"] = 1)|r1 WHERE r1.p1__12 = 1",
            ),
            (
                UNREAD_PART,
                "|t IN c.tags WHERE t.name = 'x'|c.sub s WHERE s.a = 1|c p WHERE c.a = 1|c WHERE c.userId = c.name|\
                 c WHERE c.a = 1 + c.b|c WHERE c.a = @a ?? c.b|c WHERE c.tags[0] = 1|c WHERE c[@name] = 1|\
                 c WHERE 1 BETWEEN c.a AND c.b|c WHERE c.a = 1 AND c.b = 'x|c WHERE CONTAINS(c.title, 'x')|\
                 c WHERE 1.5 = @p",
            ),
        ] {
            for text in texts.split('|') {
                let expected = QueryFilters { undecided: Some(because), ..QueryFilters::default() };
                assert_eq!(filters(&format!("SELECT * FROM {text}")), expected, "{text}");
            }
        }
        let within = filters("SELECT ARRAY(SELECT VALUE t FROM t IN c.tags) FROM c WHERE c.a = 1");
        assert_eq!((within.equal, within.undecided), (paths(&[]), Some("SELECT")));
    }
}
