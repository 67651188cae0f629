use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

/// Returns the results of a query for some items.
fn query(text: &str, items: &[Json]) -> Result<Vec<Json>, Refusal> {
    let query = Prepared::new(text, vec![("@p".into(), json("[1, 2]"))])?;
    let mut groups = Groups::new(&query);
    let mut results = Vec::new();
    let items = if query.has_source() { items } else { &[Json::Object(Vec::new())] };
    for item in items {
        let item = match query.needed() {
            Some(names) => Json::parse_only(item.to_string().as_bytes(), &names)?,
            None => item.clone(),
        };
        for row in query.rows(&item)? {
            if query.is_grouped() {
                groups.add(&query, row)?;
            } else {
                results.extend(row.result);
            }
        }
    }
    if query.is_grouped() { groups.results(&query) } else { Ok(results) }
}

#[test]
fn a_query_makes_rows() {
    let item = json(r#"{"id": "1", "n": 3, "tags": ["a", "b"], "o": {"x": null}}"#);
    for (text, expected) in [
        ("SELECT c.id, c.nope, c.o.x FROM c WHERE c.n = 3", r#"[{"id":"1","x":null}]"#),
        ("SELECT VALUE t FROM c JOIN t IN c.tags", r#"["a","b"]"#),
        ("SELECT VALUE 1 + 1", "[2]"),
    ] {
        assert_eq!(
            Json::Array(query(text, std::slice::from_ref(&item)).unwrap()).to_string(),
            expected,
            "{text}"
        );
    }
}
