use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::json::tests::values;

mod functions;
mod queries;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn query(text: &str, items: &[Json]) -> Result<Vec<Json>> {
    let parameters = vec![("@p".into(), json("[1, 2]")), ("@n".into(), json("2"))];
    let query = Prepared::new(text, parameters)?;
    let mut groups = Groups::default();
    let mut results = Vec::new();
    let items = if query.has_source() { items } else { &[Json::Object(Vec::new())] };
    for item in items {
        let item = match query.needed() {
            Some(names) => Json::parse_only(item.to_string().as_bytes(), &names)?,
            None => item.clone(),
        };
        for row in query.rows(&item)? {
            if query.plan.is_grouped {
                groups.add(&query.plan, row)?;
            } else {
                results.extend(row.result);
            }
        }
    }
    if query.plan.is_grouped { groups.results(&query) } else { Ok(results) }
}

/// Returns the cases of a table: each is a line, with those that follow it and are indented more.
pub(crate) fn cases(table: &str) -> Vec<(String, String)> {
    let table = table.trim_start_matches('\n').trim_end();
    let indent = &table[..table.len() - table.trim_start().len()];
    let lines = table.lines().filter(|line| !line.trim_start().starts_with("//"));
    let lines =
        lines.map(|line| line.strip_prefix(indent).unwrap_or_else(|| panic!("no case: {line}")));
    let mut table = String::new();
    for line in lines {
        table.push(if line.starts_with(' ') { ' ' } else { '\n' });
        table.push_str(line.trim());
    }
    let case = |line: &str| {
        let (text, expected) = line.split_once(" =>").unwrap_or_else(|| panic!("no case: {line}"));
        (text.to_owned(), expected.trim().to_owned())
    };
    table.trim().lines().map(case).collect()
}

/// Checks the results of queries, as JSON.
fn check(items: &str, table: &str) {
    let Json::Array(items) = json(items) else { panic!("no array") };
    for (text, expected) in cases(table) {
        let results = query(&text, &items).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(Json::Array(results).to_string(), json(&expected).to_string(), "{text}");
    }
}

/// Checks the value of an expression, as JSON; an undefined one is empty.
fn check_value(text: &str, expected: &str) {
    check("[]", &format!("SELECT VALUE {text} => [{expected}]"));
}

fn check_values(table: &str) {
    for (text, expected) in cases(table) {
        check_value(&text, &expected);
    }
}

/// Checks that queries are refused with texts that have these parts.
fn check_refused(table: &str) {
    for (text, part) in cases(table) {
        let refusal = query(&text, &[json("{}")]).expect_err(&text);
        assert_eq!(refusal.status, 400, "{text}");
        assert!(refusal.message.contains(&part), "{text}: {}", refusal.message);
    }
}

/// Returns a strategy for expressions about an item `c`.
fn expressions() -> impl Strategy<Value = String> {
    let leaves = r#"c c.a c.b c[0] c["a"].b undefined null true 1 -0.5 1e300 'ab' '' '%[a' @p [] {} COUNT(c.a)"#;
    let leaf = prop::sample::select(leaves.split(' ').collect::<Vec<_>>());
    let names: Vec<(&str, usize)> =
        functions::names().map(|(name, least, most)| (name, most.min(least + 1))).collect();
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, move |inner| {
        let operators = prop::sample::select(vec![
            "=", "!=", "<", ">=", "AND", "OR", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>",
            ">>>", "||", "??", "LIKE", "NOT LIKE", "IN",
        ]);
        let call = (prop::sample::select(names.clone()), prop::collection::vec(inner.clone(), 7));
        prop_oneof![
            (inner.clone(), operators, inner.clone())
                .prop_map(|(a, by, b)| format!("({a} {by} ({b}))")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("{{x: {a}, y: [{b}]}}.x[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                format!("ARRAY(SELECT DISTINCT VALUE {a} FROM d IN c.a WHERE {b})")
            }),
            inner.clone().prop_map(|a| format!("(SELECT VALUE COUNT({a}) FROM d IN c.b)")),
            inner.prop_map(|a| format!("(NOT -{a})")),
            call.prop_map(|((name, many), arguments)| {
                format!("{name}({})", arguments[..many.min(7)].join(", "))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_expression_has_a_value_or_is_refused(text in expressions(), other in expressions(), item in values()) {
        let items = [item.clone(), Json::Object(vec![("a".into(), item.clone()), ("b".into(), item)])];
        for text in [
            format!("SELECT VALUE {text} FROM c WHERE {other} ORDER BY {other}"),
            format!("SELECT {text} AS x FROM c GROUP BY {other}"),
            format!("SELECT {text}"),
        ] {
            for result in query(&text, &items).into_iter().flatten() {
                prop_assert_eq!(&json(&result.to_string()), &result, "{}", text);
            }
        }
    }

    #[test]
    fn the_order_of_values_is_total_and_agrees_with_equality(a in values(), b in values(), c in values()) {
        prop_assert_eq!(a.cmp(&a), Ordering::Equal);
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a.cmp(&b).is_le() && b.cmp(&c).is_le() {
            prop_assert!(a.cmp(&c).is_le());
        }
        let item = Json::Array(vec![a.clone(), b.clone()]);
        let equal = query("SELECT VALUE [c[0] = c[1], c[0] IN (c[1]), [c[0]] = [c[1]]] FROM c", &[item]);
        prop_assert_eq!(equal.unwrap(), vec![Json::Array(vec![Json::Bool(a.cmp(&b).is_eq()); 3])]);
    }
}
