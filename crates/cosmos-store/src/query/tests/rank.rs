use serde_json::{Value, json};

use super::World;
use crate::{
    Refusal,
    engine::{EpkRange, Name},
    query::plan::plan,
    sql::Prepared,
};

fn world() -> World {
    let world = World::with_key("/pk");
    for (id, text, v) in [
        ("0", json!("A red bike, and a blue one"), json!([0, 1])),
        ("1", json!("Red! red bike"), json!([1, 0])),
        ("2", json!("a car"), json!([1, 1])),
        ("3", json!(7), json!("none")),
    ] {
        world.create(&json!({"id": id, "pk": "a", "text": text, "v": v}));
    }
    world
}

fn hybrid_plan(world: &World, text: &str, features: &str) -> Result<Value, Refusal> {
    let view = world.engine.view();
    let (_, definition) = view.container(Name::Id("d"), Name::Id("c")).expect("a container");
    let query = Prepared::new(text, Vec::new())?;
    plan(&view, world.container, &query, &definition, features)
}

#[test]
fn the_best_ranks_come_first() {
    let world = world();
    for (rank, expected) in [
        ("FullTextScore(c.text, 'red')", vec!["1", "0", "2", "3"]),
        ("FullTextScore(c.text, 'red', 'blue')", vec!["0", "1", "2", "3"]),
        ("FullTextScore(c.text, 'red bike', 'blue one') OFFSET 1 LIMIT 2", vec!["1", "2"]),
        (
            "RRF(FullTextScore(c.text, 'blue'), VectorDistance(c.v, [1, 0]))",
            vec!["1", "0", "2", "3"],
        ),
        (
            "RRF(FullTextScore(c.text, 'blue'), VectorDistance(c.v, [1, 0]), [5, 0.1])",
            vec!["0", "1", "2", "3"],
        ),
        (
            "RRF(FullTextScore(c.text, 'red'), VectorDistance(c.v, [1, 1]), [-1, 0])",
            vec!["3", "2", "0", "1"],
        ),
    ] {
        let query = format!("SELECT VALUE c.id FROM c ORDER BY RANK {rank}");
        assert_eq!(world.all(&query).expect("results"), expected, "{rank}");
    }
}

#[test]
fn an_sdk_ranks_with_statistics_of_all_partitions() {
    let world = world();
    let text = "SELECT TOP 2 c.id FROM c WHERE c.pk = 'a' \
                ORDER BY RANK RRF(VectorDistance(c.v, [1]), FullTextScore(c.text, 'red', 'x'), [-1, 2])";
    let refused = hybrid_plan(&world, text, "Top, HybridSearch").unwrap_err();
    assert!(refused.message.contains("WeightedRankFusion"), "{refused}");
    let plan = hybrid_plan(&world, text, "HybridSearch, WeightedRankFusion").expect("a plan");
    let info = &plan["hybridSearchQueryInfo"];
    assert_eq!(
        info["globalStatisticsQuery"],
        "SELECT COUNT(1) AS documentCount, [{'totalWordCount': SUM(_FULLTEXTWORDCOUNT(c.text)), 'hitCounts': \
         [COUNTIF(FULLTEXTCONTAINS(c.text, 'red')), COUNTIF(FULLTEXTCONTAINS(c.text, 'x'))]}] AS fullTextStatistics \
         FROM c"
    );
    for (name, value) in [
        ("componentWeights", json!([1.0, 2.0])),
        ("skip", Value::Null),
        ("take", json!(2)),
        ("requiresGlobalStatistics", json!(true)),
    ] {
        assert_eq!(info[name], value, "{name}");
    }
    let by = |name| format!("{{documentdb-formattablehybridsearchquery-{name}}}");
    let score = format!(
        "_FULLTEXTSCORE(c.text, ['red', 'x'], {}, {}, {})",
        by("totaldocumentcount"),
        by("totalwordcount-0"),
        by("hitcountsarray-0")
    );
    let component = &info["componentQueryInfos"][1];
    assert_eq!(component["orderBy"], json!(["Descending"]));
    assert_eq!(component["hasNonStreamingOrderBy"], true);
    assert_eq!(
        component["rewrittenQuery"],
        format!(
            "SELECT TOP 120 c._rid, [{{'item': {score}}}] AS orderByItems, {{'payload': {{'id': c.id}}, \
             'componentScores': [(_VECTORSCORE(c.v, [1]) ?? -1.79769e+308), ({score} ?? -1.79769e+308)]}} AS payload \
             FROM c WHERE ((c.pk = 'a') AND true) ORDER BY {score} DESC"
        )
    );
    assert_eq!(info["componentQueryInfos"][0]["orderBy"], json!(["Ascending"]));
}

#[test]
fn what_a_plan_asks_is_answered() {
    let world = world();
    let text = "SELECT TOP 2 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.text, 'red')";
    let plan = hybrid_plan(&world, text, "HybridSearch").expect("a plan");
    let info = &plan["hybridSearchQueryInfo"];
    let statistics = info["globalStatisticsQuery"].as_str().expect("text");
    let found = world.all_in(statistics, &EpkRange::all()).expect("statistics");
    let expected = json!({"documentCount": 4, "fullTextStatistics": [{"totalWordCount": 12, "hitCounts": [2]}]});
    assert_eq!(found, [expected]);
    let query = info["componentQueryInfos"][0]["rewrittenQuery"].as_str().expect("text");
    let query =
        [("totaldocumentcount", "4"), ("totalwordcount-0", "12"), ("hitcountsarray-0", "[2]")]
            .iter()
            .fold(query.to_owned(), |query, (name, value)| {
                query.replace(&format!("{{documentdb-formattablehybridsearchquery-{name}}}"), value)
            });
    let found = world.all(&query).expect("results");
    let ids: Vec<_> = found.iter().map(|row| &row["payload"]["payload"]).collect();
    assert_eq!(ids[..2], ["1", "0"]);
    assert!(found[0]["payload"]["componentScores"][0].as_f64() > Some(0.0), "{found:?}");
}
