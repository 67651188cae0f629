//! The work of a query by its text.
//!
//! The text is split into words and symbols, not parsed: enough for clauses, which begin with words
//! outside of parentheses. The emulator refuses a text that it cannot parse, so only answered texts
//! come here.

use serde_json::Value;

use crate::partitioning::path::PropertyPath;

/// The shape of a query.
#[derive(Debug, PartialEq, Eq)]
pub struct QueryShape {
    /// Values and ranges that the filter and the order look up in the index.
    pub seeks: u32,
    /// The same query with the whole items as its result. `None` where its result has them already, and with
    /// JOIN and OFFSET.
    pub whole_items: Option<String>,
    /// True when the result sums items up, so that one page of it may come from all of them.
    pub sums_up: bool,
    /// True when the result is the first items in an order: each physical partition returns its own first ones.
    pub takes_first: bool,
    /// The properties that the filter compares by `=`.
    pub equalities: Vec<PropertyPath>,
}

/// A word with its dots and brackets, a text in quotes, a number, or a symbol.
#[derive(Clone, Copy, Debug)]
pub struct SqlToken<'a> {
    /// Its text.
    pub text: &'a str,
    at: usize,
    /// The number of brackets around it.
    depth: usize,
}

impl<'a> SqlToken<'a> {
    /// Returns true for this word, in any case.
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Returns true for one of these words, in any case.
    pub fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Returns the alias and the path of a property, such as `c.address.city` or `c["full name"]`, or `None` for
    /// another word, and for a name that is empty or has escapes.
    pub fn property(&self) -> Option<(&'a str, PropertyPath)> {
        let (alias, mut rest) = self.text.split_at(self.text.find(['.', '['])?);
        if alias.is_empty() || alias.starts_with(['@', '\'', '"']) || alias.parse::<f64>().is_ok() {
            return None;
        }
        let mut path = String::new();
        while !rest.is_empty() {
            let name;
            (name, rest) = if rest.starts_with('[') {
                let quote = rest.get(1..2)?;
                rest.get(2..)?.split_once(&format!("{quote}]"))?
            } else {
                let plain = rest.strip_prefix('.')?;
                plain.split_at(plain.find(['.', '[']).unwrap_or(plain.len()))
            };
            if name.is_empty() || name.contains('\\') {
                return None;
            }
            path = format!("{path}/{}", Value::from(name));
        }
        Some((alias, path.parse().ok()?))
    }
}

/// Returns the shape of a query's text.
pub fn shape(text: &str) -> QueryShape {
    let tokens = tokens(text);
    let clause =
        |words: &[&str]| tokens.iter().position(|token| token.depth == 0 && token.is_one_of(words));
    let end = tokens.len();
    let from = clause(&["FROM"]).unwrap_or(end);
    let order = clause(&["ORDER"]).unwrap_or(end);
    let group = clause(&["GROUP"]).filter(|&group| group > from).unwrap_or(end);
    let after_filter = order.min(group).min(clause(&["OFFSET"]).unwrap_or(end));
    let filter = clause(&["WHERE"]).unwrap_or(after_filter).min(after_filter);

    let (head, list) = tokens[..from].split_at(list_start(&tokens[..from]));
    let aggregates = list
        .windows(2)
        .any(|pair| pair[0].is_one_of(&["COUNT", "SUM", "AVG", "MIN", "MAX"]) && pair[1].is("("));
    let distinct = head.iter().any(|token| token.is("DISTINCT"));
    let sums_up = aggregates || distinct || group < end;
    let has_top = head.iter().any(|token| token.is("TOP"));

    let is_whole = list.len() == 1 && list[0].is("*");
    let is_plain = clause(&["JOIN", "OFFSET"]).is_none() && from < end;
    let whole_items = (!is_whole && is_plain).then(|| {
        let top = head.iter().position(|token| token.is("TOP"));
        let top = top.and_then(|top| head.get(top + 1)).filter(|_| !sums_up);
        let top = top.map_or_else(String::new, |top| format!("TOP {} ", top.text));
        let rest = tokens.get(group).map_or(text.len(), |token| token.at);
        let rest = &text[tokens[from].at..rest];
        format!("SELECT {top}* {rest}")
    });
    let order_seeks = u32::from(order < end);
    let filter = &tokens[filter..after_filter];
    let equal = filter.windows(2).filter(|pair| pair[1].is("="));
    QueryShape {
        seeks: seeks(filter) + order_seeks,
        whole_items,
        sums_up,
        takes_first: order < end && !sums_up && (has_top || clause(&["OFFSET"]).is_some()),
        equalities: equal.filter_map(|pair| Some(pair[0].property()?.1)).collect(),
    }
}

/// Returns the start of the list of a SELECT.
fn list_start(tokens: &[SqlToken<'_>]) -> usize {
    let mut start = 0;
    while let Some(token) = tokens.get(start) {
        start += match token.text.to_ascii_uppercase().as_str() {
            "SELECT" | "DISTINCT" | "VALUE" => 1,
            "TOP" => 2,
            _ => break,
        };
    }
    start.min(tokens.len())
}

/// Returns the number of look-ups: one for each comparison, each call of a function, and each value of an IN.
fn seeks(filter: &[SqlToken<'_>]) -> u32 {
    let mut seeks = 0;
    let mut list_at = None;
    for (i, token) in filter.iter().enumerate() {
        let is_in = i > 0 && filter[i - 1].is("IN");
        seeks += match token.text {
            "(" if is_in => {
                list_at = Some(token.depth + 1);
                1
            }
            // A parenthesis after a symbol or a keyword is no call.
            "(" => {
                let called = i.checked_sub(1).map(|before| filter[before]).filter(is_name);
                u32::from(called.is_some())
            }
            ")" => {
                list_at = list_at.filter(|&depth| depth != token.depth + 1);
                0
            }
            "," => u32::from(list_at == Some(token.depth)),
            "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" => 1,
            _ if token.is("BETWEEN") || token.is("LIKE") => 1,
            _ => 0,
        };
    }
    seeks
}

fn is_name(token: &SqlToken<'_>) -> bool {
    token.text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !token.is_one_of(&["WHERE", "AND", "OR", "NOT", "IN", "BETWEEN"])
}

/// Splits a text into its words and symbols, without its comments.
pub fn tokens(text: &str) -> Vec<SqlToken<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$' | '.');
    let is_comparison = |c: char| matches!(c, '=' | '!' | '<' | '>');
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length_while =
            |accept: &dyn Fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        if let Some(length) = comment_length(rest) {
            at += length;
            continue;
        }
        let length = match first {
            '\'' | '"' => quoted_length(rest),
            _ if is_word(first) => word_length(rest, is_word),
            _ if is_comparison(first) => length_while(&is_comparison),
            _ => first.len_utf8(),
        };
        if matches!(first, ')' | ']' | '}') {
            depth = depth.saturating_sub(1);
        }
        if !first.is_whitespace() {
            tokens.push(SqlToken { text: &rest[..length], at, depth });
        }
        if matches!(first, '(' | '[' | '{') {
            depth += 1;
        }
        at += length;
    }
    tokens
}

/// Returns the length of a comment, up to the end of its line or to its end.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return text.find('\n').or(Some(text.len()));
    }
    Some(text.strip_prefix("/*")?.find("*/")? + 4)
}

/// Returns the length of a word with its properties in brackets, such as `c["full name"].first`.
fn word_length(text: &str, is_word: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].find(|c| !is_word(c)).unwrap_or(text.len() - length);
        let name = text[length..].strip_prefix('[').unwrap_or_default();
        let end = if name.starts_with(['\'', '"']) { quoted_length(name) } else { name.len() };
        if !name[end..].starts_with(']') {
            return length;
        }
        length += end + 2;
    }
}

/// Returns the length of a text in quotes, with the quotes.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if text.starts_with(c) => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::shape;

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
                "SELECT c.id FROM c WHERE c.from = 1",
                false,
                Some("SELECT * FROM c WHERE c.from = 1"),
            ),
            (
                "SELECT TOP @n (c.a = 'FROM' ? {b: c.b} : undefined) AS d FROM c ORDER BY c.a",
                false,
                Some("SELECT TOP @n * FROM c ORDER BY c.a"),
            ),
            ("SELECT TOP 1 VALUE c FROM c", false, Some("SELECT TOP 1 * FROM c")),
            ("SELECT c.id FROM c JOIN t IN c.tags", false, None),
            ("SELECT c.id FROM c OFFSET 2 LIMIT 3", false, None),
            ("SELECT VALUE COUNT(1) FROM c WHERE 1 = 1", true, Some("SELECT * FROM c WHERE 1 = 1")),
            ("SELECT c.a, MAX(c.b) AS b FROM c GROUP BY c.a", true, Some("SELECT * FROM c ")),
            ("SELECT DISTINCT TOP 2 VALUE c.a FROM c", true, Some("SELECT * FROM c")),
        ] {
            let shape = shape(text);
            assert_eq!((shape.sums_up, shape.whole_items.as_deref()), (sums_up, whole), "{text}");
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
                    AND c[\"\\\"] = 1 AND c[\"] = 1 ORDER BY c.e";
        assert_eq!(equalities(text), ["/a/b", "/d"]);
        assert_eq!(equalities("SELECT c.a = 1 AS x FROM c WHERE 1.5 = @p"), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_text_has_a_shape(
            text: String,
            words in prop::collection::vec(
                "SELECT|FROM|WHERE|ORDER|GROUP|TOP|IN|c\\.a|c\\[\"|\"\\]|=|<|'|\"|\\\\|\\(|\\)|,|1|é", 0..20,
            ),
        ) {
            for text in [text, words.concat(), words.join(" ")] {
                shape(&text);
            }
        }
    }
}
