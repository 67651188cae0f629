//! The filters in the text of a query: comparisons of a property that are joined by AND. A text with OR or NOT has
//! no certain filter, so it gets none.

use cosmos_model::charges::sql::{self, SqlToken};
use cosmos_model::partitioning::path::PropertyPath;

use crate::request::OrderBy;

#[derive(Debug, Default, PartialEq)]
pub(super) struct QueryFilters {
    pub(super) equal: Vec<PropertyPath>,
    pub(super) ranges: Vec<PropertyPath>,
    pub(super) order: Option<OrderBy>,
    pub(super) limit: Option<u32>,
    pub(super) sums_up: bool,
}

pub(super) fn filters(text: &str) -> QueryFilters {
    let words = sql::tokens(text);
    let at = |name: &str| words.iter().position(|word| word.is(name));
    let end = words.len();
    let from = at("FROM").unwrap_or(end);
    let order = at("ORDER").unwrap_or(end);
    let group = at("GROUP").unwrap_or(end);
    let filter_end = order.min(group).min(at("OFFSET").unwrap_or(end));
    let filter_start = at("WHERE").map_or(filter_end, |at| (at + 1).min(filter_end));
    let filter = &words[filter_start..filter_end];
    let sums_up = |word: &SqlToken<'_>| word.is_one_of(&["COUNT", "SUM", "AVG", "MIN", "MAX"]);
    let mut found = QueryFilters {
        sums_up: group < end || words[..from].iter().any(sums_up),
        limit: at("LIMIT").or(at("TOP")).and_then(|at| words.get(at + 1)?.text.parse().ok()),
        ..QueryFilters::default()
    };
    if let Some(path) = words.get(order + 2).and_then(SqlToken::property) {
        let descending = words.get(order + 3).is_some_and(|word| word.is("DESC"));
        found.order = Some(OrderBy { path, descending });
    }
    if filter.iter().any(|word| word.is_one_of(&["OR", "NOT"])) {
        return found;
    }
    for pair in filter.windows(2) {
        let Some(path) = pair[0].property() else { continue };
        let list = match pair[1].text.to_ascii_uppercase().as_str() {
            "=" | "IN" => &mut found.equal,
            "<" | "<=" | ">" | ">=" | "BETWEEN" => &mut found.ranges,
            _ => continue,
        };
        if !list.contains(&path) {
            list.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(paths: &[&str]) -> Vec<PropertyPath> {
        paths.iter().map(|path| path.parse().unwrap()).collect()
    }

    #[test]
    fn a_text_tells_its_filters_and_its_order() {
        let found = filters(
            "SELECT TOP 20 * FROM c WHERE c.userId = @user AND c.address.city IN ('a', 'b') \
             AND c[\"createdAt\"] >= @from ORDER BY c.createdAt DESC",
        );
        assert_eq!(found.equal, paths(&["/userId", "/address/city"]));
        assert_eq!(found.ranges, paths(&["/createdAt"]));
        assert_eq!(found.order.map(String::from), Some("/createdAt desc".to_owned()));
        assert_eq!((found.limit, found.sums_up), (Some(20), false));
        let found = filters("SELECT VALUE COUNT(1) FROM posts p WHERE (p.type = 'c.x = 1')");
        assert_eq!((found.equal, found.sums_up), (paths(&["/type"]), true));
    }

    #[test]
    fn an_uncertain_comparison_is_no_filter() {
        for text in [
            "SELECT * FROM c WHERE c.a = 1 OR c.b = 2",
            "SELECT * FROM c WHERE NOT c.a = 1",
            "SELECT * FROM c WHERE CONTAINS(c.title, 'x')",
            "SELECT * FROM c WHERE 1.5 = @p",
            "SELECT * FROM c",
            "",
        ] {
            let found = filters(text);
            assert_eq!((found.equal, found.ranges), (vec![], vec![]), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text: String) {
            filters(&text);
        }
    }
}
