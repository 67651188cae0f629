//! The rules of the service for items.

use serde_json::{Value, json};

use super::{World, of, parsed, put, run, value};
use crate::{
    engine::{Condition, EpkRange, Item, ItemOperation, Mode, Name, Operation, Patch, writer::now},
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
    for item in [json!({"pk": 1}), json!({"id": 7, "pk": 1}), json!([1])] {
        assert_eq!(status(item), (400, 0));
    }
    assert_eq!(status(json!({"id": "object", "pk": {"x": 1}})), (201, 0));
    assert!(world.read(&json!([{}]), "object").is_some(), "no value for a key");
    assert_eq!(status(json!({"id": "a", "pk": "x".repeat(2049)})), (400, 0));
    for ttl in [json!(0), json!(-2), json!(1.5), json!("1"), json!(null), json!(1e12)] {
        assert_eq!(status(json!({"id": "a", "pk": 1, "ttl": ttl})), (400, 0));
    }
    assert_eq!(status(json!({"id": "a", "pk": 1, "x": "x".repeat(2 << 20)})), (413, 0));
    assert_eq!(status(json!({"id": "x".repeat(1023), "pk": "x".repeat(2048)})), (201, 0));
    assert_eq!(status(json!({"id": "large", "pk": 1, "x": "x".repeat((2 << 20) - 100)})), (201, 0));

    let under_2 = |mode| {
        let refusal = world.one(&json!([2]), put(mode, &json!({"id": "b", "pk": 1})));
        refusal.map_err(|refusal| (refusal.status, refusal.sub_status)).unwrap_err()
    };
    assert_eq!(under_2(Mode::Create), (400, 1001));
    assert_eq!(under_2(Mode::Replace), (404, 0), "what is missing is missing");
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
    let removal = json!({"op": "remove", "path": "/x/0"});
    let move_up = json!({"op": "move", "from": "/x/y", "path": "/z"});
    for (item, operation, expected) in [
        (json!({}), op("add", "/x", json!(1)), json!({"x": 1})),
        (json!({"x": 0}), op("add", "/x", json!(1)), json!({"x": 1})),
        (json!({"x": [1, 2]}), op("add", "/x/1", json!(9)), json!({"x": [1, 9, 2]})),
        (json!({"x": [1, 2]}), op("add", "/x/-", json!(9)), json!({"x": [1, 2, 9]})),
        (json!({"x": [1, 2]}), op("set", "/x/1", json!(9)), json!({"x": [1, 9]})),
        (json!({"x": {"y/z": 1}}), op("replace", "/x/y~1z", json!(2)), json!({"x": {"y/z": 2}})),
        (json!({"x": [1, 2], "y": 0}), removal, json!({"x": [2], "y": 0})),
        (json!({"x": 1}), op("incr", "/x", json!(-0.5)), json!({"x": 0.5})),
        (json!({}), op("incr", "/x", json!(5)), json!({"x": 5})),
        (json!({"x": {"y": 1}}), move_up, json!({"x": {}, "z": 1})),
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
    let nested = op("set", &format!("/x{}", "/0".repeat(80)), deep(100));
    assert_eq!(patched(json!({"x": deep(100)}), &[nested]).unwrap_err().status, 400);
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
    let (_, last) = found.last().unwrap();
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
fn unique_keys_compare_whole_values_within_a_logical_partition() {
    let world = World::new(json!({"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/a", "/b/c"]}]}}));
    let [one, other] = [1, 2].map(|end| json!(format!("{}{end}", "x".repeat(5000))));
    for (id, pk, a, status) in [
        ("1", 1, one, 201),
        ("2", 1, other.clone(), 201),
        ("3", 1, other.clone(), 409),
        ("3", 2, other, 201),
        ("4", 1, json!(null), 201),
    ] {
        let created = world.create(&json!({"id": id, "pk": pk, "a": a, "b": {"c": 1}}));
        assert_eq!(created.map_or_else(|refusal| refusal.status, |done| done.status), status);
    }
    let missing = world.create(&json!({"id": "5", "pk": 1, "b": {"c": 1}}));
    assert_eq!(missing.unwrap_err().status, 409, "a missing value counts as null");
}

#[test]
fn databases_end_with_their_containers_and_names_and_rids_find_them() {
    let world = World::new(json!({}));
    let engine = &world.engine;
    assert_eq!(run(engine.create_database(&json!({"id": "d"}), None)).unwrap_err().status, 409);
    let view = world.view();
    let database = view.database(Name::Id("d")).unwrap();
    assert_eq!(view.database(Name::Rid(&database.rid)).unwrap().json["id"], "d");
    let (_, definition) = view.container(Name::Id("d"), Name::Id("c")).unwrap();
    let rid = definition.json["_rid"].as_str().unwrap();
    let by_rid = view.container(Name::Rid(&database.rid), Name::Rid(rid)).unwrap();
    assert_eq!(by_rid.0, world.container);
    world.create(&json!({"id": "a", "pk": 1})).unwrap();
    let view = world.view();
    run(engine.delete_database(Name::Id("d"))).unwrap();
    assert!(world.view().containers(Name::Id("d")).is_empty());
    assert!(world.view().offers().is_empty());
    assert_eq!(world.create(&json!({"id": "a", "pk": 1})).unwrap_err().status, 404);
    let old = view.scan(world.container, &EpkRange::all(), None);
    assert_eq!(old.count(), 1, "an older state has it");
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
            ..put(Mode::Replace, &new)
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
        let item = json!({"id": id.to_string(), "pk": 1});
        world.engine.transact(world.container, Some(&key), vec![put(Mode::Create, &item)])
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
}
