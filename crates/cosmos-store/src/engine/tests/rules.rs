//! The rules of the service for items.

use serde_json::{Value, json};

use super::{World, of, parsed, put, run, value};
use crate::{
    engine::{
        Condition, Engine, EpkRange, IndexRange, Item, ItemOperation, Name, Operation, Patch,
        writer::now,
    },
    json::Json,
};

fn patch(operations: &[Value]) -> Operation {
    Operation::Patch(Patch {
        operations: operations.iter().cloned().map(parsed).collect(),
        condition: None,
    })
}

#[test]
fn an_item_has_system_properties_at_its_end_and_a_new_etag_with_each_write() {
    let world = World::new(json!({}));
    let first = world.create(&json!({"id": "a", "pk": 1, "_ts": 7, "_etag": "mine"})).unwrap();
    let item = first.item.unwrap();
    assert_eq!(first.status, 201);
    let text = String::from_utf8(item.body.to_vec()).unwrap();
    let rid = "AAAAAYAAAAEBAAAAAAAAAA==";
    let expected = format!(
        r#"{{"id":"a","pk":1,"_rid":"{rid}","_self":"dbs/AAAAAQ==/colls/AAAAAYAAAAE=/docs/{rid}/","_etag":"\"{}\"","_attachments":"attachments/","_ts":"#,
        item.etag.trim_matches('"')
    );
    assert!(text.starts_with(&expected), "{text}");
    let second = world.upsert(&json!({"id": "a", "pk": 1})).unwrap();
    assert_eq!(second.status, 200);
    assert_eq!(second.before.unwrap().etag, item.etag);
    assert_ne!(second.item.unwrap().etag, item.etag);
}

#[test]
fn bad_items_are_refused() {
    let world = World::new(json!({}));
    let status = |item: Value| {
        world
            .create(&item)
            .map_or_else(|refusal| (refusal.status, refusal.sub_status), |done| (done.status, 0))
    };
    for id in ["", "a/b", "a\\b", "a?b", "a#b", &"x".repeat(1024)] {
        assert_eq!(status(json!({"id": id, "pk": 1})), (400, 0), "{id}");
    }
    assert_eq!(status(json!({"pk": 1})), (400, 0));
    assert_eq!(status(json!({"id": 7, "pk": 1})), (400, 0));
    assert_eq!(status(json!([1])), (400, 0));
    assert_eq!(status(json!({"id": "object", "pk": {"x": 1}})), (201, 0));
    assert!(world.read(&json!([{}]), "object").is_some(), "no value for a key");
    assert_eq!(status(json!({"id": "a", "pk": "x".repeat(2049)})), (400, 0));
    for ttl in [json!(0), json!(-2), json!(1.5), json!("1"), json!(null), json!(1e12)] {
        assert_eq!(status(json!({"id": "a", "pk": 1, "ttl": ttl})), (400, 0));
    }
    assert_eq!(status(json!({"id": "a", "pk": 1, "x": "x".repeat(2 << 20)})), (413, 0));
    assert_eq!(
        status(json!({"id": format!("{} ", "x".repeat(1022)), "pk": "x".repeat(2048)})),
        (201, 0)
    );
    assert_eq!(status(json!({"id": "large", "pk": 1, "x": "x".repeat((2 << 20) - 100)})), (201, 0));

    let other =
        world.one(&json!([2]), put(Operation::Create, &json!({"id": "b", "pk": 1}))).unwrap_err();
    assert_eq!((other.status, other.sub_status), (400, 1001));
    let other =
        world.one(&json!([2]), put(Operation::Replace, &json!({"id": "b", "pk": 1}))).unwrap_err();
    assert_eq!(other.status, 404, "what is missing is missing, whatever the body says");
    let many: Vec<_> = (0..101).map(|n| of(Operation::Read, &n.to_string())).collect();
    for operations in [Vec::new(), many] {
        assert_eq!(world.transact(&json!([1]), operations).unwrap_err().status, 400);
    }
}

#[test]
fn patches_change_what_they_name() {
    let world = World::new(json!({}));
    let patched = |item: Value, operations: &[Value]| {
        let mut whole = json!({"id": "a", "pk": 1});
        whole.as_object_mut().unwrap().extend(item.as_object().unwrap().clone());
        world.upsert(&whole).unwrap();
        world.one(&json!([1]), of(patch(operations), "a")).map(|done| {
            let mut item = super::value(&done.item.unwrap());
            item.as_object_mut()
                .unwrap()
                .retain(|name, _| !name.starts_with('_') && name != "id" && name != "pk");
            item
        })
    };
    let op = |op: &str, path: &str, value: Value| json!({"op": op, "path": path, "value": value});
    for (item, operation, expected) in [
        (json!({}), op("add", "/x", json!(1)), json!({"x": 1})),
        (json!({"x": 0}), op("add", "/x", json!(1)), json!({"x": 1})),
        (json!({"x": [1, 2]}), op("add", "/x/1", json!(9)), json!({"x": [1, 9, 2]})),
        (json!({"x": [1, 2]}), op("add", "/x/-", json!(9)), json!({"x": [1, 2, 9]})),
        (json!({"x": [1, 2]}), op("set", "/x/1", json!(9)), json!({"x": [1, 9]})),
        (
            json!({"x": {"y/z": 1}}),
            op("replace", "/x/y~1z", json!(null)),
            json!({"x": {"y/z": null}}),
        ),
        (
            json!({"x": [1, 2], "y": 0}),
            json!({"op": "remove", "path": "/x/0"}),
            json!({"x": [2], "y": 0}),
        ),
        (json!({"x": 1}), op("incr", "/x", json!(-0.5)), json!({"x": 0.5})),
        (json!({}), op("incr", "/x", json!(5)), json!({"x": 5})),
        (
            json!({"x": {"y": 1}}),
            json!({"op": "move", "from": "/x/y", "path": "/z"}),
            json!({"x": {}, "z": 1}),
        ),
    ] {
        assert_eq!(patched(item, &[operation]), Ok(expected));
    }
    for operation in [
        op("replace", "/x", json!(1)),
        op("add", "/x/y", json!(1)),
        op("set", "/list/5", json!(1)),
        op("incr", "/text", json!(1)),
        op("incr", "/list", json!("1")),
        json!({"op": "remove", "path": "/x"}),
        json!({"op": "set", "path": "/x"}),
        json!({"op": "other", "path": "/x", "value": 1}),
        json!({"op": "move", "from": "/list", "path": "/list/0"}),
        op("set", "/id", json!("b")),
        op("set", "/pk", json!(2)),
        op("set", "/_ts", json!(2)),
        op("set", "", json!(2)),
        op("set", "/ttl", json!(0)),
    ] {
        let refused = patched(json!({"list": [1], "text": "x"}), std::slice::from_ref(&operation));
        assert_eq!(refused.unwrap_err().status, 400, "{operation}");
    }
    let many: Vec<_> = (0..11).map(|_| op("set", "/x", json!(1))).collect();
    assert_eq!(patched(json!({}), &many).unwrap_err().status, 400);

    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let path = format!("/x{}", "/0".repeat(80));
    assert_eq!(
        patched(json!({"x": deep(100)}), &[op("set", &path, deep(100))]).unwrap_err().status,
        400
    );
}

#[test]
fn an_item_whose_time_has_ended_is_invisible_at_once_and_removed_later() {
    let world = World::new(
        json!({"defaultTtl": -1, "changeFeedPolicy": {"retentionDuration": 5}, "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}}),
    );
    world.create(&json!({"id": "short", "pk": 1, "ttl": 1, "u": 1})).unwrap();
    world.create(&json!({"id": "long", "pk": 1, "u": 2})).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while world.read(&json!([1]), "short").is_some() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(world.scan(&EpkRange::all()).len(), 1);
    assert_eq!(world.view().changes(world.container, 0, &EpkRange::all(), 0, 9).items.len(), 1);
    // Its unique key and its id are free, and the new item is another one.
    world.create(&json!({"id": "other", "pk": 1, "u": 1})).unwrap();
    let again = world.create(&json!({"id": "short", "pk": 1, "u": 3})).unwrap();
    assert!(again.before.is_none());
    assert_eq!(run(world.engine.expire(now())), 0, "the new item has taken its place");

    world.create(&json!({"id": "x", "pk": 1, "ttl": 60, "u": 4})).unwrap();
    assert_eq!(run(world.engine.expire(now() + 61)), 1);
    let versions = || world.view().versions(world.container, 0, &EpkRange::all(), 0, 99);
    let (found, _) = versions().unwrap();
    let last = found.last().unwrap();
    assert_eq!((last.operation, last.expired, &*last.id, &*last.key), ("delete", true, "x", "[1]"));
    run(world.engine.expire(now() + 6 * 60));
    assert!(versions().unwrap().0.is_empty());

    // A new default counts for the items that are there.
    let definition = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}, "defaultTtl": 30, "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}});
    run(world.engine.replace_container(world.container, &definition, None)).unwrap();
    assert_eq!(run(world.engine.expire(now() + 31)), 3);
    assert_eq!(versions().unwrap_err().status, 400);
}

#[test]
fn a_prefix_of_a_hierarchical_key_is_a_range() {
    let world = World::new(json!({"partitionKey": {"paths": ["/a", "/b/c"], "kind": "MultiHash"}}));
    for (n, (a, b)) in [("x", 1), ("x", 2), ("y", 1)].into_iter().enumerate() {
        world.create(&json!({"id": n.to_string(), "a": a, "b": {"c": b}})).unwrap();
    }
    world.create(&json!({"id": "3", "a": "x"})).unwrap();
    let view = world.view();
    let count =
        |key: Value| world.scan(&view.range_of(world.container, &parsed(key)).unwrap()).len();
    assert_eq!(
        [json!(["x"]), json!(["y"]), json!(["x", 2]), json!(["x", {}]), json!([])].map(count),
        [3, 1, 1, 1, 4]
    );
    let refused = |key: Value| view.read(world.container, &parsed(key), "0").unwrap_err().status;
    assert_eq!(refused(json!(["x"])), 400);
    assert_eq!(refused(json!(["x", 1, 2])), 400);
    let prefix = world.one(&json!(["x"]), of(Operation::Delete, "0"));
    assert_eq!(prefix.unwrap_err().status, 400);
}

#[test]
fn long_texts_of_version_1_are_different_keys() {
    let world = World::new(json!({"partitionKey": {"paths": ["/pk"], "version": 1}}));
    let keys = [99, 100, 101, 150].map(|length| "a".repeat(length));
    for pk in &keys {
        world.create(&json!({"id": "same", "pk": pk})).unwrap();
    }
    let view = world.view();
    for pk in &keys {
        assert_eq!(world.read(&json!([pk]), "same").unwrap()["pk"], json!(pk));
        assert_eq!(
            world.scan(&view.range_of(world.container, &parsed(json!([pk]))).unwrap()).len(),
            1
        );
    }
    run(world.engine.split(world.container, 0)).unwrap();
    let partitions = world.view().partitions(world.container);
    let places: Vec<_> = keys[1..]
        .iter()
        .map(|pk| {
            let range = view.range_of(world.container, &parsed(json!([pk]))).unwrap();
            partitions.iter().position(|one| one.range.contains(&range.from))
        })
        .collect();
    assert!(places.iter().all(|place| place == &places[0]), "the SDKs see one hash");
}

#[test]
fn unique_keys_compare_whole_values_within_a_logical_partition() {
    let world = World::new(json!({"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/a", "/b/c"]}]}}));
    let long = "x".repeat(5000);
    let create = |id: &str, pk: i32, a: Value| {
        let item = json!({"id": id, "pk": pk, "a": a, "b": {"c": 1}});
        world.create(&item).map_or_else(|refusal| refusal.status, |done| done.status)
    };
    assert_eq!(create("1", 1, json!(format!("{long}1"))), 201);
    assert_eq!(create("2", 1, json!(format!("{long}2"))), 201);
    assert_eq!(create("3", 1, json!(format!("{long}2"))), 409);
    assert_eq!(create("3", 2, json!(format!("{long}2"))), 201);
    assert_eq!(create("4", 1, json!(null)), 201);
    let missing = world.create(&json!({"id": "5", "pk": 1, "b": {"c": 1}}));
    assert_eq!(missing.unwrap_err().status, 409, "a missing value counts as null");
}

#[test]
fn an_index_has_what_the_service_writes_and_only_what_the_policy_covers() {
    let world = World::new(json!({"indexingPolicy": {"excludedPaths": [{"path": "/x/*"}]}}));
    world.create(&json!({"id": "a", "pk": 1, "x": 1})).unwrap();
    let count = |path: &str| {
        let paths = vec![vec![path.to_owned()]];
        run(world.engine.build_index(world.container, &paths, false));
        let from = Some((parsed(json!(1)), true));
        let wanted = IndexRange { paths, from, ..IndexRange::default() };
        Some(world.view().lookup(world.container, &EpkRange::all(), &wanted)?.count())
    };
    assert_eq!((count("_ts"), count("x")), (Some(1), None));
    for _ in 0..3 {
        world.upsert(&json!({"id": "a", "pk": 1, "x": 1})).unwrap();
    }
    world.upsert(&json!({"id": "b", "pk": 2})).unwrap();
    assert_eq!(count("_ts"), Some(2));
}

#[test]
fn the_feed_begins_at_a_time() {
    let world = World::new(json!({}));
    let begin = now();
    world.create(&json!({"id": "a", "pk": 1})).unwrap();
    while now() <= begin + 1 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    world.create(&json!({"id": "b", "pk": 1})).unwrap();
    let at = |time: i64| world.view().lsn_at(world.container, 0, time);
    assert_eq!([at(begin - 1), at(now() - 1), at(now())], [0, 1, 2]);
}

#[test]
fn databases_end_with_their_containers_and_names_and_rids_find_them() {
    let world = World::new(json!({}));
    let engine = &world.engine;
    assert_eq!(run(engine.create_database(&json!({"id": "d"}), None)).unwrap_err().status, 409);
    for name in [json!("a/b"), json!("a?b"), json!(""), json!("x".repeat(256)), json!(7)] {
        assert_eq!(
            run(engine.create_database(&json!({"id": name}), None)).unwrap_err().status,
            400
        );
    }
    let view = world.view();
    let database = view.database(Name::Id("d")).unwrap();
    assert_eq!(view.database(Name::Rid(&database.rid)).unwrap().json["id"], "d");
    let (_, definition) = view.container(Name::Id("d"), Name::Id("c")).unwrap();
    let rid = definition.json["_rid"].as_str().unwrap();
    assert_eq!(
        view.container(Name::Rid(&database.rid), Name::Rid(rid)).unwrap().0,
        world.container
    );
    world.create(&json!({"id": "a", "pk": 1})).unwrap();
    let view = world.view();
    run(engine.delete_database(Name::Id("d"))).unwrap();
    assert!(world.view().containers(Name::Id("d")).is_empty());
    assert!(world.view().offers().is_empty());
    assert_eq!(world.create(&json!({"id": "a", "pk": 1})).unwrap_err().status, 404);
    assert_eq!(
        view.scan(world.container, &EpkRange::all(), None).count(),
        1,
        "an older state has it"
    );
    let anew = World::of(engine.clone(), json!({}));
    assert_ne!(anew.container, world.container);
    assert_eq!(anew.scan(&EpkRange::all()).len(), 0);
}

#[test]
fn transfers_lose_nothing_and_readers_see_whole_transactions() {
    let world = World::new(json!({}));
    let item = |id: &str, n: i64| json!({"id": id, "pk": 1, "n": n});
    world.create(&item("a", 0)).unwrap();
    world.create(&item("b", 0)).unwrap();
    let n = |item: &Item| value(item)["n"].as_i64().unwrap();
    let transfer = || {
        let view = world.view();
        let read = |id: &str| view.read(world.container, &parsed(json!([1])), id).unwrap().unwrap();
        let replace = |old: &Item, new: Value| ItemOperation {
            if_match: Some(old.etag.clone()),
            ..put(Operation::Replace, &new)
        };
        let (a, b) = (read("a"), read("b"));
        let steps = vec![replace(&a, item("a", n(&a) - 1)), replace(&b, item("b", n(&b) + 1))];
        world.transact(&json!([1]), steps).unwrap().results.iter().all(Result::is_ok)
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| while !transfer() {}));
        }
        for _ in 0..300 {
            let all: Vec<_> = world.view().scan(world.container, &EpkRange::all(), None).collect();
            assert_eq!(all.iter().map(n).sum::<i64>(), 0);
        }
    });
    assert_eq!(world.read(&json!([1]), "b").unwrap()["n"], 200);
}

#[test]
fn positions_and_ranges_of_callers_may_be_anything() {
    let world = World::new(json!({"changeFeedPolicy": {"retentionDuration": 5}}));
    world.create(&json!({"id": "a", "pk": 1})).unwrap();
    run(world.engine.build_index(world.container, &[vec!["n".to_owned()]], false));
    let view = world.view();
    let bytes = [vec![], vec![0], vec![0x20; 40], vec![0xff], vec![0xff, 0xff]];
    for (from, until) in bytes.iter().flat_map(|from| bytes.iter().map(move |until| (from, until)))
    {
        let range = EpkRange { from: from.clone(), until: until.clone() };
        for after in [0, 1, u64::MAX] {
            view.changes(world.container, 0, &range, after, 0);
            view.versions(world.container, 0, &range, after, 0).unwrap();
        }
        for after in bytes.iter().map(|after| Some(&**after)).chain([None]) {
            view.scan(world.container, &range, after).count();
        }
        let (one, other) = (Some((parsed(json!(9)), false)), Some((parsed(json!(1)), false)));
        let paths = vec![vec!["n".to_owned()]];
        for reverse in [false, true] {
            let (paths, from, until) = (paths.clone(), one.clone(), other.clone());
            let wanted =
                IndexRange { paths, from, until, reverse, at: Some(7), ..IndexRange::default() };
            view.lookup(world.container, &range, &wanted).map(Iterator::count);
        }
    }
    assert_eq!(view.lsn_at(world.container, 0, i64::MAX), 1);
    assert_eq!(view.lsn_at(world.container, 9, 0), 0);
    assert_eq!(view.changes(99, 0, &EpkRange::all(), 0, 1).items.len(), 0);
    assert_eq!(run(world.engine.split(world.container, 9)).unwrap_err().status, 404);
    assert_eq!(run(world.engine.merge(world.container, [0, 0])).unwrap_err().status, 404);
}

#[test]
fn a_defect_fails_its_request_alone() {
    let world = World::new(json!({}));
    world.create(&json!({"id": "a", "pk": 1})).unwrap();
    let condition: Condition = Box::new(|_: &Json| panic!("a defect"));
    let operations = vec![parsed(json!({"op": "set", "path": "/x", "value": 1}))];
    let broken = Operation::Patch(Patch { operations, condition: Some(condition) });
    assert_eq!(world.one(&json!([1]), of(broken, "a")).unwrap_err().status, 500);
    world.upsert(&json!({"id": "a", "pk": 1, "x": 2})).unwrap();
    assert_eq!(world.read(&json!([1]), "a").unwrap()["x"], 2);
}

#[test]
fn a_caller_that_goes_away_loses_nothing_of_others() {
    let world = World::new(json!({}));
    let key = parsed(json!([1]));
    let create = |id: usize| {
        world.engine.transact(
            world.container,
            Some(&key),
            vec![put(Operation::Create, &json!({"id": id.to_string(), "pk": 1}))],
        )
    };
    run(async {
        for id in 0..50 {
            tokio::select! {
                biased;
                _ = create(id) => {}
                () = std::future::ready(()) => {}
            }
        }
        create(50).await.unwrap();
    });
    assert!(world.read(&json!([1]), "50").is_some());
    let clone: Engine = world.engine.clone();
    drop(world);
    assert_eq!(clone.view().databases().len(), 1);
}
