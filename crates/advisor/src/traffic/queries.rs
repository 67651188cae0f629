//! The filters in the text of a query. One form tells them: comparisons of properties of the root with values, joined by
//! AND. Any other text is undecided: a half of it may mean the opposite.

use std::collections::BTreeSet;

use cosmos_model::charges::sql::{self, SqlToken};
use cosmos_model::partitioning::path::PropertyPath;

use crate::request::OrderBy;

const UNREAD_WORDS: [&str; 6] = ["OR", "NOT", "JOIN", "EXISTS", "LIKE", "SELECT"];

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
    // After a break, a text in quotes without its end does not end with a quote.
    let text = format!("{text}\n");
    let undecided = |because| QueryFilters { undecided: Some(because), ..QueryFilters::default() };
    read(&sql::tokens(&text)).unwrap_or_else(undecided)
}

fn read(words: &[SqlToken<'_>]) -> Result<QueryFilters, &'static str> {
    // A name such as `p1__12`.
    let is_obscured = |name: &String| {
        let numbers = name.strip_prefix('p').and_then(|rest| rest.split_once("__"));
        numbers.is_some_and(|(first, second)| format!("{first}{second}").parse::<u64>().is_ok())
    };
    let mut paths = words.iter().filter_map(SqlToken::property);
    if paths.any(|(_, path)| path.names().iter().any(is_obscured)) {
        return Err("names that the service obscured");
    }
    let has = |unread: &&str| words.iter().skip(1).any(|word| word.is(unread));
    if let Some(unread) = UNREAD_WORDS.into_iter().find(has) {
        return Err(unread);
    }
    let end = words.len();
    let at = |name: &str| words.iter().position(|word| word.is(name)).unwrap_or(end);
    let (from, group, order) = (at("FROM"), at("GROUP"), at("ORDER"));
    let filter_end = order.min(group).min(at("OFFSET"));
    let filter_start = at("WHERE").min(filter_end);
    let source = words.get(from + 1..filter_start).unwrap_or_default();
    let is_root = source.len() <= 3 && source.iter().all(is_name);
    let root = source.last().filter(|_| is_root).ok_or(UNREAD_PART)?;
    let property = |word: &SqlToken<'_>| {
        word.property().filter(|(alias, _)| *alias == root.text).map(|(_, path)| path)
    };
    let sums_up = |pair: &[SqlToken<'_>]| {
        pair[0].is_one_of(&["COUNT", "SUM", "AVG", "MIN", "MAX"]) && pair[1].is("(")
    };
    let limit = words.get(at("LIMIT").min(at("TOP")) + 1);
    let limit = limit.and_then(|word| word.text.parse().ok());
    let mut found = QueryFilters {
        sums_up: group < end || words[..from].windows(2).any(sums_up),
        limit: limit.filter(|limit| *limit > 0),
        ..QueryFilters::default()
    };
    if let Some(path) = words.get(order + 2).and_then(property) {
        let descending = words.get(order + 3).is_some_and(|word| word.is("DESC"));
        found.order = Some(OrderBy { path, descending });
    }
    // Of comparisons that AND alone joins, parentheses mean nothing but the list of IN. A minus is that of a number.
    let filter = words[filter_start..filter_end].iter().skip(1);
    let filter = filter.filter(|word| !word.is_one_of(&["(", ")", ",", "-"]));
    let mut filter: Vec<_> = filter.collect();
    filter.dedup_by(|next, value| is_value(value) && is_value(next));
    for comparison in filter.split(|word| word.is("AND")) {
        let (path, sign) = match comparison {
            [] => continue,
            // The end of BETWEEN.
            [value] if is_value(value) => continue,
            [path, sign, value] if is_value(value) => (path, sign),
            [value, sign, path] if is_value(value) => (path, sign),
            _ => return Err(UNREAD_PART),
        };
        let path = property(path).ok_or(UNREAD_PART)?;
        match sign.text.to_ascii_uppercase().as_str() {
            "=" | "IN" => found.equal.insert(path),
            "<" | "<=" | ">" | ">=" | "BETWEEN" => found.ranges.insert(path),
            "!=" | "<>" => continue,
            _ => return Err(UNREAD_PART),
        };
    }
    found.ranges.retain(|path| !found.equal.contains(path));
    Ok(found)
}

fn is_name(word: &SqlToken<'_>) -> bool {
    word.text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns true for a parameter or a literal.
fn is_value(word: &SqlToken<'_>) -> bool {
    match word.text.chars().next() {
        Some(quote @ ('\'' | '"')) => word.text.len() > 1 && word.text.ends_with(quote),
        Some('0'..='9' | '.') => word.text.parse::<f64>().is_ok(),
        Some('@') => true,
        _ => word.is_one_of(&["true", "false", "null"]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        /// Only `r1` to `r3` are properties of the root here.
        #[test]
        fn whatever_the_text_its_paths_are_properties_of_the_root(
            text: String,
            words in prop::collection::vec(prop::sample::select(vec![
                "AND", "AND", "OR", "NOT", "(", ")", "=", "=", ">", "IN (", "BETWEEN", ",", "@p", "1", "c.r1", "c.r1",
                "c[\"r2\"]", "c['r3']", "'c.x = 1 AND'", "\"c.x\"", "t.x", "JOIN t IN c.r1", "ORDER BY", "FROM",
                "-- c.x = 1\n", "/* OR c.x = 1 */", "EXISTS(SELECT VALUE t FROM t IN c.r1 WHERE t.x = 1)", "c[", "é",
            ]), 0..12),
        ) {
            filters(&text);
            let found = filters(&format!("SELECT * FROM c WHERE {}", words.join(" ")));
            let order = found.order.into_iter().map(|order| order.path);
            for path in found.equal.into_iter().chain(found.ranges).chain(order) {
                prop_assert!(paths(&["/r1", "/r2", "/r3"]).contains(&path), "{path}: {words:?}");
            }
        }
    }
}
