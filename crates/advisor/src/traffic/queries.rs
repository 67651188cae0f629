//! The filters in the text of a query.
//!
//! The text is split into words and symbols. The filters are comparisons of a property that are joined by
//! AND. A text with OR or NOT has no certain filter, so it gets none.

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
    let words = words(text);
    let at = |word: &str| words.iter().position(|other| other.eq_ignore_ascii_case(word));
    let end = words.len();
    let from = at("FROM").unwrap_or(end);
    let order = at("ORDER").unwrap_or(end);
    let group = at("GROUP").unwrap_or(end);
    let offset = at("OFFSET").unwrap_or(end);
    let filter_end = order.min(group).min(offset);
    let filter_start = at("WHERE").map_or(filter_end, |at| (at + 1).min(filter_end));
    let filter = &words[filter_start..filter_end];
    let mut found = QueryFilters {
        sums_up: group < end
            || words[..from].iter().any(|word| {
                ["COUNT", "SUM", "AVG", "MIN", "MAX"].iter().any(|a| word.eq_ignore_ascii_case(a))
            }),
        limit: at("LIMIT").or(at("TOP")).and_then(|at| words.get(at + 1)?.parse().ok()),
        ..QueryFilters::default()
    };
    if let Some(path) = words.get(order + 2).and_then(|word| path(word)) {
        let descending = words.get(order + 3).is_some_and(|word| word.eq_ignore_ascii_case("DESC"));
        found.order = Some(OrderBy { path, descending });
    }
    if filter.iter().any(|word| ["OR", "NOT"].iter().any(|not| word.eq_ignore_ascii_case(not))) {
        return found;
    }
    for pair in filter.windows(2) {
        let [name, comparison] = pair else { continue };
        let Some(path) = path(name) else { continue };
        let list = match comparison.to_ascii_uppercase().as_str() {
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

fn path(word: &str) -> Option<PropertyPath> {
    let start = word.find(['.', '['])?;
    let (alias, mut rest) = word.split_at(start);
    if alias.is_empty() || alias.starts_with(['@', '\'', '"']) || alias.parse::<f64>().is_ok() {
        return None;
    }
    let mut path = String::new();
    while !rest.is_empty() {
        let name = if let Some(quoted) = rest.strip_prefix("[\"") {
            let (name, after) = quoted.split_once("\"]")?;
            rest = after;
            name
        } else {
            let plain = rest.strip_prefix('.')?;
            let (name, after) = plain.split_at(plain.find(['.', '[']).unwrap_or(plain.len()));
            rest = after;
            name
        };
        path.push('/');
        path.push_str(&serde_json::Value::from(name).to_string());
    }
    path.parse().ok()
}

/// Returns words with their dots and brackets, numbers, texts in quotes, and symbols.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if is_word(first) => word_length(rest),
            '<' | '>' | '=' | '!' => rest.find(|c| !"<>=!".contains(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_@$.".contains(c)
}

fn word_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let plain = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        length += plain;
        let after = &text[length..];
        match after.strip_prefix("[\"").and_then(|name| name.find("\"]")) {
            Some(end) => length += end + 4,
            None => return length,
        }
    }
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

        #[test]
        fn any_text_of_the_language_is_parsed(
            words in prop::collection::vec("SELECT|FROM|WHERE|ORDER|BY|TOP|c\\.a|c\\[\"|\"\\]|=|<|'|\\(|,|1", 0..20)
        ) {
            filters(&words.concat());
            filters(&words.join(" "));
        }
    }
}
