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
        "conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/m"},
        "computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.x) FROM c"}],
        "changeFeedPolicy": {"retentionDuration": 10}, "defaultTtl": -1,
    });
    let created = create(&with(given.clone()), None).unwrap();
    let policy = json!({
        "indexingMode": "consistent", "automatic": true, "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/x/*"}, {"path": "/\"_etag\"/?"}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    });
    assert_eq!(created["indexingPolicy"], policy);
    assert_eq!(created["conflictResolutionPolicy"]["conflictResolutionPath"], "/m");
    for name in ["computedProperties", "changeFeedPolicy", "defaultTtl"] {
        assert_eq!(created[name], given[name]);
    }
}

#[test]
fn an_id_may_be_part_of_a_hierarchical_key() {
    let key = json!({"paths": ["/id", "/pk"], "kind": "MultiHash"});
    assert!(create(&with(json!({"partitionKey": key})), None).is_ok());
}

#[test]
fn names_in_key_paths_may_be_in_quotes_of_either_kind() {
    for path in [r#"/'level" 1*()'/'le/vel2'"#, r#"/"level\" 1*()"/"le/vel2""#] {
        let world = World::new(json!({"partitionKey": {"paths": [path]}}));
        world.create(&json!({"id": "a", "level\" 1*()": {"le/vel2": "x"}})).unwrap();
        assert!(world.read(&json!(["x"]), "a").is_some(), "{path}");
    }
    for bad in ["/'a'b", "/'a'/", "'a'"] {
        assert_eq!(
            create(&with(json!({"partitionKey": {"paths": [bad]}})), None),
            Err(400),
            "{bad}"
        );
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
    for bad in [
        json!({"offerThroughput": 300}),
        json!({"offerThroughput": 450}),
        json!(null),
        json!(7),
        json!({"offerAutopilotSettings": {"maxThroughput": 1500}}),
    ] {
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
fn vectors_and_their_indexes_are_refused_in_the_words_of_the_service() {
    let vector =
        json!({"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 8});
    let index = json!({"path": "/v", "type": "diskANN", "quantizationByteSize": 8, "vectorIndexShardKey": ["/a/b"]});
    let text = |name: &str, value: Value, index_name: &str, index_value: Value| {
        let (mut vector, mut index) = (vector.clone(), index.clone());
        vector[name] = value;
        index[index_name] = index_value;
        let definition = with(
            json!({"vectorEmbeddingPolicy": {"vectorEmbeddings": [vector]}, "indexingPolicy": {"vectorIndexes": [index]}}),
        );
        crate::engine::definition::complete(&definition)
            .map_or_else(|refusal| refusal.message, |_| String::new())
    };
    let of_vector = |name: &str, value: Value| text(name, value, "x", json!(null));
    let of_index = |name: &str, value: Value| text("x", json!(null), name, value);
    assert_eq!(of_vector("x", json!(null)), "");
    assert!(of_vector("dataType", json!("float33")).contains("has an invalid DataType"));
    assert!(
        of_vector("distanceFunction", json!("guess")).contains("invalid DistanceFunction:guess")
    );
    assert!(
        of_vector("dimensions", json!(8000))
            .contains("Dimensions:8000 which is more than the maximum supported value")
    );
    assert!(of_vector("dimensions", json!(-1)).contains("Dimensions:-1"));
    assert!(of_vector("path", json!("/w")).contains("path::/v not matching in Embedding's path"));
    assert!(of_index("type", json!("notFlat")).contains("Index Type::notFlat is invalid"));
    assert!(of_index("quantizationByteSize", json!(0)).contains(
        "QuantizationByteSize value :: 0 is out of range. The allowed range is between 1 and 256."
    ));
    assert!(of_index("vectorIndexShardKey", json!(["a"])).contains("invalid Shard Path: a."));
    assert!(
        of_index("vectorIndexShardKey", json!(["/a", "/b"]))
            .contains(": 2 exceeds the maximum: 1.")
    );
    let world = World::new(json!({"vectorEmbeddingPolicy": {"vectorEmbeddings": [vector]}}));
    let replaced = run(world.engine.replace_container(world.container, &with(json!({})), None));
    assert!(replaced.unwrap_err().message.contains("existing embedding policy cannot be modified"));
}

#[test]
fn throughput_is_an_offer() {
    let engine = Engine::open(None).unwrap();
    let autoscale = json!({"offerAutopilotSettings": {"maxThroughput": 4000}});
    run(engine.create_database(&json!({"id": "own"}), None)).unwrap();
    let shared = run(
        engine.create_database(&json!({"id": "shared"}), Some(json!({"offerThroughput": 600})))
    )
    .unwrap();
    let create = |database, name: &str, throughput| {
        let definition = json!({"id": name, "partitionKey": {"paths": ["/pk"]}});
        run(engine.create_container(Name::Id(database), &definition, 1, throughput)).unwrap().rid
    };
    let rids = [
        create("own", "a", None),
        create("own", "b", Some(autoscale)),
        create("shared", "c", None),
    ];
    let offer = |rid: &str| {
        engine.view().offers().into_iter().find(|offer| offer.json["offerResourceId"] == rid)
    };
    assert_eq!(offer(&shared.rid).unwrap().json["content"]["offerThroughput"], 600);
    assert_eq!(offer(&rids[0]).unwrap().json["content"]["offerThroughput"], 400);
    let scaled = offer(&rids[1]).unwrap();
    assert_eq!(scaled.json["content"]["offerThroughput"], 400);
    assert_eq!(scaled.rid.len(), 4, "three bytes");
    assert!(offer(&rids[2]).is_none());
    let mut wanted = scaled.json.clone();
    wanted["content"] = json!({"offerThroughput": 1000});
    let replaced = run(engine.replace_offer(&scaled.rid, &wanted)).unwrap();
    assert_eq!(replaced.json["content"]["offerThroughput"], 1000);
    wanted["content"]["offerThroughput"] = json!(1);
    assert_eq!(run(engine.replace_offer(&scaled.rid, &wanted)).unwrap_err().status, 400);
    assert_eq!(run(engine.replace_offer("AAAA", &wanted)).unwrap_err().status, 404);
    assert_eq!(engine.view().offers().len(), 3);
}
