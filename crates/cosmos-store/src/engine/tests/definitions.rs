//! Definitions of containers, and offers.

use serde_json::{Value, json};

use super::{World, run};
use crate::engine::{Engine, Name};

fn create(definition: &Value, throughput: Option<Value>) -> Result<Value, u16> {
    let engine = Engine::open(None).unwrap();
    run(engine.create_database(&json!({"id": "d"}), None)).unwrap();
    let created = run(engine.create_container(Name::Id("d"), definition, 1, throughput));
    created.map(|one| one.json).map_err(|refusal| refusal.status)
}

#[allow(clippy::needless_pass_by_value, reason = "tests give it literals")]
fn with(properties: Value) -> Value {
    let mut definition = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
    definition.as_object_mut().unwrap().extend(properties.as_object().unwrap().clone());
    definition
}

#[test]
fn a_definition_gets_the_defaults_of_the_service() {
    let mut created = create(&with(json!({"defaultTtl": null})), None).unwrap();
    assert!(created["_ts"].is_i64() && created["_etag"].is_string());
    created.as_object_mut().unwrap().retain(|name, _| name != "_ts" && name != "_etag");
    let expected = json!({
        "id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "indexingPolicy": {
            "indexingMode": "consistent", "automatic": true, "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/\"_etag\"/?"}],
        },
        "conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/_ts", "conflictResolutionProcedure": ""},
        "geospatialConfig": {"type": "Geography"},
        "_rid": "AAAAAYAAAAE=", "_self": "dbs/AAAAAQ==/colls/AAAAAYAAAAE=/", "_docs": "docs/", "_sprocs": "sprocs/",
        "_triggers": "triggers/", "_udfs": "udfs/", "_conflicts": "conflicts/",
    });
    assert_eq!(created, expected);
    let given = json!({
        "indexingPolicy": {"indexingMode": "Consistent", "includedPaths": [{"path": "/", "indexes": []}], "excludedPaths": [{"path": "/x/*"}], "compositeIndexes": [[{"path": "/a"}, {"path": "/b", "order": "descending"}]]},
    });
    let created = create(&with(given), None).unwrap();
    let policy = json!({
        "indexingMode": "consistent", "automatic": true, "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/x/*"}, {"path": "/\"_etag\"/?"}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    });
    assert_eq!(created["indexingPolicy"], policy);
}

#[test]
fn names_in_key_paths_may_be_in_quotes_of_either_kind() {
    for path in [r#"/'level" 1*()'/'le/vel2'"#, r#"/"level\" 1*()"/"le/vel2""#] {
        let world = World::new(json!({"partitionKey": {"paths": [path]}}));
        world.create(&json!({"id": "a", "level\" 1*()": {"le/vel2": "x"}})).unwrap();
        assert!(world.read(&json!(["x"]), "a").is_some(), "{path}");
    }
}

#[test]
fn bad_definitions_are_refused() {
    let key = |paths: Value, kind: &str| json!({"partitionKey": {"paths": paths, "kind": kind}});
    for bad in [
        json!({"id": "a/b"}),
        json!({"id": "x".repeat(256)}),
        json!({"partitionKey": null}),
        key(json!([]), "Hash"),
        key(json!(["/a", "/b"]), "Hash"),
        key(json!(["/a b"]), "Hash"),
        key(json!(["a"]), "Hash"),
        key(json!(["/'a'b"]), "Hash"),
        key(json!(["/_ts"]), "Hash"),
        key(json!(["/a"]), "Other"),
        key(json!(["/a", "/a"]), "MultiHash"),
        key(json!(["/a", "/b", "/c", "/d"]), "MultiHash"),
        json!({"partitionKey": {"paths": ["/a"], "version": 3}}),
        json!({"partitionKey": {"paths": ["/a"], "kind": "MultiHash", "version": 1}}),
        json!({"defaultTtl": 0}),
        json!({"defaultTtl": -2}),
        json!({"defaultTtl": "1"}),
        json!({"indexingPolicy": {"indexingMode": "sometimes"}}),
        json!({"indexingPolicy": {"includedPaths": [{"path": "/a/?"}]}}),
        json!({"indexingPolicy": {"includedPaths": [{"path": "a"}]}}),
        json!({"indexingPolicy": {"includedPaths": 7}}),
        json!({"indexingPolicy": {"includedPaths": [7]}}),
        json!({"indexingPolicy": {"compositeIndexes": [[{"path": "/a"}]]}}),
        json!({"uniqueKeyPolicy": {"uniqueKeys": [{"paths": []}]}}),
        json!({"vectorEmbeddingPolicy": {"vectorEmbeddings": [{"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 0}]}}),
        json!({"indexingPolicy": {"vectorIndexes": [{"path": "/v", "type": "flat"}]}}),
        json!({"fullTextPolicy": {"defaultLanguage": "xx"}}),
        json!({"fullTextPolicy": {"fullTextPaths": [{"path": "a"}]}}),
        json!({"indexingPolicy": {"fullTextIndexes": [{"path": "/a"}]}}),
        json!({"changeFeedPolicy": {"retentionDuration": -1}}),
        json!({"computedProperties": [{"name": "x"}]}),
        json!({"conflictResolutionPolicy": 7}),
    ] {
        assert_eq!(create(&with(bad.clone()), None), Err(400), "{bad}");
    }
    let autoscale = json!({"offerAutopilotSettings": {"maxThroughput": 1500}});
    for bad in [json!({"offerThroughput": 300}), json!({"offerThroughput": 450}), autoscale] {
        assert_eq!(create(&with(json!({})), Some(bad.clone())), Err(400), "{bad}");
    }
}

#[test]
fn a_replacement_keeps_the_key() {
    let world = World::new(json!({}));
    let etag =
        world.view().container(Name::Id("d"), Name::Id("c")).unwrap().1.json["_etag"].clone();
    let replace = |properties: Value, if_match: Option<&str>| {
        run(world.engine.replace_container(world.container, &with(properties), if_match))
            .map_err(|refusal| refusal.status)
    };
    assert_eq!(replace(json!({"partitionKey": {"paths": ["/other"]}}), None).unwrap_err(), 400);
    assert_eq!(replace(json!({"id": "other"}), None).unwrap_err(), 400);
    assert_eq!(replace(json!({}), Some("\"other\"")).unwrap_err(), 412);
    let replaced = replace(json!({"defaultTtl": 60}), etag.as_str()).unwrap();
    assert_eq!(replaced.json["defaultTtl"], 60);
    assert_ne!(replaced.json["_etag"], etag);
}

#[test]
fn throughput_is_an_offer() {
    let engine = Engine::open(None).unwrap();
    let shared = json!({"offerThroughput": 600});
    run(engine.create_database(&json!({"id": "own"}), None)).unwrap();
    run(engine.create_database(&json!({"id": "shared"}), Some(shared))).unwrap();
    let create = |database, name: &str, throughput| {
        let definition = json!({"id": name, "partitionKey": {"paths": ["/pk"]}});
        run(engine.create_container(Name::Id(database), &definition, 1, throughput)).unwrap();
    };
    create("own", "a", None);
    create("own", "b", Some(json!({"offerAutopilotSettings": {"maxThroughput": 5000}})));
    create("shared", "c", None);
    let throughput = |offer: &Value| offer["content"]["offerThroughput"].as_u64();
    let offers = engine.view().offers();
    assert!(offers.iter().map(|one| throughput(&one.json)).eq([Some(600), Some(400), Some(500)]));
    let mut wanted = offers[2].json.clone();
    wanted["content"] = json!({"offerThroughput": 1000});
    let replaced = run(engine.replace_offer(&offers[2].rid, &wanted)).unwrap();
    assert_eq!(throughput(&replaced.json), Some(1000));
    assert_eq!(run(engine.replace_offer("AAAA", &wanted)).unwrap_err().status, 404);
}
