use serde_json::{Value, json};

use super::World;
use crate::{
    engine::{Name, hex},
    json::Json,
    query::plan::plan,
    sql::{Prepared, tests::cases},
};

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn plans_are_those_of_the_gateway() {
    let filter = "{documentdb-formattableorderbyquery-filter}";
    let world = World::with_key("/key");
    // From `QueryPlanBaselineTests`: the query, the number of keys, what of its plan is not empty, the rewritten query.
    let table = r#"
        SELECT * FROM c => 0 {} |
        SELECT * FROM c WHERE c.key = "x" OR c.key = 'y' => 2 {} |
        SELECT * FROM c WHERE c["key"] IN (1, 2, 3) AND c.key > 1 => 3 {} |
        SELECT * FROM c WHERE c.key = 1 AND c.key = 2 => 0 {} |
        SELECT * FROM c WHERE c.key = [] => 0 {} |
        SELECT VALUE AVG(c.blah) FROM c => 0 {"aggregates": ["Average"], "hasSelectValue": true}
            | SELECT VALUE [{"item": {"sum": SUM(c.blah), "count": COUNT(c.blah)}}] FROM c
        SELECT VALUE MIN(c.blah) FROM c WHERE c.key = 1 => 1 {"aggregates": ["Min"], "hasSelectValue": true}
            | SELECT VALUE [{"item": MIN(c.blah), "item2": {"min": MIN(c.blah), "count": COUNT(c.blah)}}]
            FROM c WHERE (c.key = 1)
        SELECT COUNT(c.blah) as count_blah, COUNT(c.blah) FROM c
            => 0 {"groupByAliases": ["count_blah", "$1"], "groupByAliasToAggregateType": {"count_blah":
            "Count", "$1": "Count"}}
            | SELECT {"count_blah": {"item": COUNT(c.blah)}, "$1": {"item": COUNT(c.blah)}} AS payload FROM c
        SELECT MAKELIST(c.blah) FROM c
            => 0 {"groupByAliases": ["$1"], "groupByAliasToAggregateType": {"$1": "MakeList"}}
            | SELECT {"$1": {"item": MAKELIST(c.blah)}} AS payload FROM c
        SELECT c.name FROM c WHERE c.key = 5 GROUP BY c.name OFFSET 1 LIMIT 2
            => 1 {"offset": 1, "limit": 2, "groupByExpressions": ["c.name"], "groupByAliases": ["name"],
            "groupByAliasToAggregateType": {"name": null}}
            | SELECT [{"item": c.name}] AS groupByItems, {"name": c.name} AS payload
            FROM c WHERE (c.key = 5) GROUP BY c.name
        SELECT COUNTIF(c.valid) FROM c GROUP BY c.zipcode
            => 0 {"groupByExpressions": ["c.zipcode"], "groupByAliases": ["$1"],
            "groupByAliasToAggregateType": {"$1": "CountIf"}}
            | SELECT [{"item": c.zipcode}] AS groupByItems, {"$1": {"item": COUNTIF(c.valid)}} AS payload
            FROM c GROUP BY c.zipcode
        SELECT TOP 5 VALUE c.name FROM c GROUP BY c.name
            => 0 {"top": 5, "groupByExpressions": ["c.name"], "hasSelectValue": true}
            | SELECT [{"item": c.name}] AS groupByItems, c.name AS payload FROM c GROUP BY c.name
        SELECT VALUE COUNT(1) FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2
            => 1 {"offset": 1, "limit": 2, "aggregates": ["Count"], "hasSelectValue": true}
            | SELECT VALUE [{"item": COUNT(1)}] FROM c WHERE (c.key = 5)
        SELECT DISTINCT * FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2
            => 1 {"distinctType": "Unordered", "offset": 1, "limit": 2}
            | SELECT DISTINCT * FROM c WHERE (c.key = 5)
        SELECT DISTINCT c.blah FROM c => 0 {"distinctType": "Unordered"} |
        SELECT DISTINCT TOP 5 VALUE c.name FROM c
            => 0 {"distinctType": "Unordered", "top": 5, "hasSelectValue": true}
            | SELECT DISTINCT VALUE c.name FROM c
        SELECT DISTINCT VALUE c.blah FROM c ORDER BY c.blah
            => 0 {"distinctType": "Ordered", "orderBy": ["Ascending"], "orderByExpressions": ["c.blah"],
            "hasSelectValue": true}
            | SELECT c._rid, [{"item": c.blah}] AS orderByItems, c.blah AS payload
            FROM c WHERE ((FILTER) AND IS_DEFINED(c.blah)) ORDER BY c.blah
        SELECT * FROM Root r ORDER BY r.blah => 0 {"orderBy": ["Ascending"], "orderByExpressions": ["r.blah"]}
            | SELECT r._rid, [{"item": r.blah}] AS orderByItems, r AS payload
            FROM Root AS r WHERE (FILTER) ORDER BY r.blah
        SELECT TOP 50 r[0] FROM r ORDER BY r["n"], r.b DESC
            => 0 {"top": 50, "orderBy": ["Ascending", "Descending"], "orderByExpressions": ["r.n", "r.b"]}
            | SELECT TOP 50 r._rid, [{"item": r.n}, {"item": r.b}] AS orderByItems, {"$1": r[0]} AS payload
            FROM r WHERE (FILTER) ORDER BY r.n, r.b DESC
        SELECT VALUE r.a FROM r WHERE r.d = true ORDER BY r.b OFFSET 2 LIMIT 3
            => 0 {"orderBy": ["Ascending"], "orderByExpressions": ["r.b"], "hasSelectValue": true,
            "offset": 2, "limit": 3}
            | SELECT r._rid, [{"item": r.b}] AS orderByItems, r.a AS payload
            FROM r WHERE ((r.d = true) AND (FILTER) AND IS_DEFINED(r.a)) ORDER BY r.b OFFSET 0 LIMIT 5
        SELECT * FROM Root r WHERE r.key = 'key' ORDER BY r.key OFFSET 1 LIMIT 2 => 1 {} |
        SELECT TOP 5 * FROM c WHERE c.key = 5 => 1 {"top": 5} |
        SELECT * FROM c OFFSET 1 LIMIT 2 => 0 {"offset": 1, "limit": 2} | SELECT * FROM c OFFSET 0 LIMIT 3
        SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.a FROM c)
            => 0 {"distinctType": "Unordered", "dCountInfo": {"dCountAlias": "n"}}
            | SELECT DISTINCT VALUE c.a FROM c
        SELECT TOP 10 c.title FROM c ORDER BY VectorDistance(c.embedding, [1, 2])
            => 0 {"top": 10, "orderBy": ["Descending"], "orderByExpressions": ["VECTORDISTANCE(c.embedding,
            [1, 2])"], "hasNonStreamingOrderBy": true}
            | SELECT TOP 10 c._rid, [{"item": VectorDistance(c.embedding, [1, 2])}] AS orderByItems,
            {"title": c.title} AS payload
            FROM c WHERE (FILTER) ORDER BY VectorDistance(c.embedding, [1, 2])
    "#;
    for (query, expectation) in cases(table) {
        let (filled, rewritten) = expectation.split_once(" |").expect("a case");
        let (n_keys, filled) = filled.split_once(' ').expect("a case");
        let filled: Value = filled.parse().expect("JSON");
        let rewritten = rewritten.trim();
        let plan = world.plan(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(plan["partitionedQueryExecutionInfoVersion"], 2);
        let mut expected = json!({
            "distinctType": "None",
            "top": null,
            "offset": null,
            "limit": null,
            "orderBy": [],
            "orderByExpressions": [],
            "groupByExpressions": [],
            "groupByAliases": [],
            "aggregates": [],
            "groupByAliasToAggregateType": {},
            "hasSelectValue": false,
            "dCountInfo": null,
            "hasNonStreamingOrderBy": false,
        });
        for (name, value) in filled.as_object().expect("an object") {
            expected[name] = value.clone();
        }
        let mut info = plan["queryInfo"].clone();
        let text = info["rewrittenQuery"].take();
        info.as_object_mut().expect("an object").remove("rewrittenQuery");
        assert_eq!(info, expected, "{query}");
        let text = text.as_str().expect("text");
        assert_eq!(text.contains(filter), rewritten.contains("FILTER"), "{query}: {text}");
        let tree = |text: &str| text.parse::<cosmos_model::sql::Query>();
        if rewritten.is_empty() {
            assert_eq!(text, "", "{query}");
        } else {
            let rewritten = rewritten.replace("FILTER", "@filter");
            assert_eq!(tree(&text.replace(filter, "@filter")), tree(&rewritten), "{query}: {text}");
        }
        let ranges = plan["queryRanges"].as_array().expect("a list");
        let is_of_keys = ranges
            .iter()
            .all(|range| range["isMaxInclusive"] == true && range["min"] == range["max"]);
        match n_keys.parse::<usize>().expect("a number") {
            0 if query.contains("AND c.key = 2") => assert_eq!(ranges[0]["max"], "", "{query}"),
            0 => assert_eq!(
                plan["queryRanges"],
                json!([{"min": "", "max": "FF", "isMinInclusive": true, "isMaxInclusive": false}]),
                "{query}"
            ),
            n => assert_eq!((ranges.len(), is_of_keys), (n, true), "{query}: {ranges:?}"),
        }
    }
}

#[test]
fn a_plan_names_the_key_as_the_sdks_hash_it_and_binds_parameters() {
    let world = World::with_key("/pk");
    let parameters = [("@pk", json!("a")), ("@n", json!(7))];
    let plan = world.plan("SELECT TOP @n * FROM c WHERE @pk = c.pk", &parameters).expect("a plan");
    let view = world.engine.view();
    let range = view.range_of(world.container, &Json::from(&json!(["a"]))).expect("a range");
    assert_eq!(plan["queryRanges"][0]["min"], hex(&range.from).as_str());
    assert_eq!(plan["queryInfo"]["top"], 7);
    let levels = json!({"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2});
    let world = World::new(json!({"partitionKey": levels}));
    let plan = world.plan("SELECT * FROM c WHERE c.t = 'a' ORDER BY c.n", &[]).expect("a plan");
    let [range] = plan["queryRanges"].as_array().expect("a list").as_slice() else {
        panic!("{plan}");
    };
    assert_eq!(range["isMaxInclusive"], false);
    assert!(range["max"].as_str() > range["min"].as_str(), "{range}");
    assert_eq!(plan["queryInfo"]["orderBy"], json!(["Ascending"]));
}

#[test]
fn a_plan_that_no_sdk_can_carry_out_is_refused() {
    let world = World::with_key("/pk");
    let refused = world.plan("SELECT VALUE {'sum': SUM(c.n)} FROM c", &[]).unwrap_err();
    assert_eq!(refused.status, 400);
    let view = world.engine.view();
    let (_, definition) = view.container(Name::Id("d"), Name::Id("c")).expect("a container");
    let query = Prepared::new("SELECT VALUE COUNT(1) FROM c", Vec::new()).expect("a query");
    let refused = plan(&view, world.container, &query, &definition, "OrderBy,Top").unwrap_err();
    let other = Prepared::new("SELECT COUNT(1) FROM c", Vec::new()).expect("a query");
    let other = plan(&view, world.container, &other, &definition, "Aggregate").unwrap_err();
    assert!(other.message.contains("only supports 'VALUE <AggregateFunc>'"), "{other}");
    assert!(refused.message.contains("unsupported features"), "{refused}");
    assert!(refused.message.contains("Query contained Aggregate, which"), "{refused}");
}
