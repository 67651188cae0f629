//! Random operations, carried out by an engine and by a list.

use std::collections::BTreeMap;

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::{Folder, World, of, parsed, put, run, value};
use crate::{
    engine::{
        Engine, EpkRange, IndexRange, ItemOperation, Lsn, Mode, Operation, Patch, writer::now,
    },
    json::Json,
};

#[derive(Clone, Debug)]
enum Step {
    Transact { pk: u8, writes: Vec<Write> },
    DeletePartition(u8),
    Expire,
    Split(usize),
    Merge(usize),
    BuildIndex { composite: bool, within: bool },
    Poll,
    Reopen,
}

#[derive(Clone, Debug)]
struct Write {
    id: u8,
    kind: Kind,
    n: Value,
    unique: u8,
    ttl: bool,
    with_etag: bool,
}

use Kind::{Create, Delete, Increment, Read, Rename, Replace, Upsert};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Create,
    Upsert,
    Replace,
    Rename,
    Increment,
    Delete,
    Read,
}

fn write() -> impl Strategy<Value = Write> {
    let kinds = [Create, Upsert, Upsert, Replace, Rename, Increment, Delete, Read];
    let values = prop_oneof![
        (-3..9).prop_map(|n| json!(n)),
        select(vec![json!(null), json!(true), json!("b\u{0}c"), json!([1, "x"]), json!({"b": 1})]),
    ];
    let with_etag = prop::bool::weighted(0.2);
    let all = (0..5_u8, select(kinds.to_vec()), values, 0..12_u8, any::<bool>(), with_etag);
    all.prop_map(|(id, kind, n, unique, ttl, with_etag)| Write {
        id,
        kind,
        n,
        unique,
        ttl,
        with_etag,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..4_u8, prop::collection::vec(write(), 1..2)).prop_map(|(pk, writes)| Step::Transact { pk, writes }),
        6 => (0..4_u8, prop::collection::vec(write(), 2..5)).prop_map(|(pk, writes)| Step::Transact { pk, writes }),
        1 => (0..4_u8).prop_map(Step::DeletePartition),
        1 => Just(Step::Expire),
        1 => (0..4_usize).prop_map(Step::Split),
        1 => (0..3_usize).prop_map(Step::Merge),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(composite, within)| Step::BuildIndex { composite, within }),
        3 => Just(Step::Poll),
        1 => Just(Step::Reopen),
    ]
}

/// An item of the model: its body without system properties, and its ETag.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    body: Value,
    etag: String,
}

/// Items of each logical partition, in the order of insertion.
type Model = BTreeMap<u8, Vec<(u8, Entry)>>;

fn key(pk: u8) -> Value {
    // Keys of several types.
    [json!(["a"]), json!([7]), json!([null]), json!([{}])][usize::from(pk)].clone()
}

fn id_after(write: &Write) -> u8 {
    if write.kind == Rename { (write.id + 1) % 5 } else { write.id }
}

fn body(pk: u8, write: &Write) -> Value {
    let mut body = json!({"id": id_after(write).to_string(), "n": write.n, "unique": write.unique});
    if write.ttl {
        body["ttl"] = json!(1000);
    }
    if key(pk)[0] != json!({}) {
        body["pk"] = key(pk)[0].clone();
    }
    body
}

fn without_system_properties(mut item: Value) -> Value {
    item.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
    item
}

/// Carries a write out on the model; returns the status.
fn apply(
    items: &mut Vec<(u8, Entry)>,
    pk: u8,
    write: &Write,
    etags: &BTreeMap<(u8, u8), String>,
) -> u16 {
    let place = items.iter().position(|(id, _)| *id == write.id);
    let matches =
        |place: usize| !write.with_etag || etags.get(&(pk, write.id)) == Some(&items[place].1.etag);
    let mut new = body(pk, write);
    match (write.kind, place) {
        (Create, Some(_)) => return 409,
        (Read, Some(_)) => return 200,
        (Replace | Rename | Increment | Delete | Read, None) => return 404,
        (_, Some(place)) if !matches(place) => return 412,
        (Delete, Some(place)) => {
            items.remove(place);
            return 204;
        }
        (Increment, Some(place)) => {
            new = items[place].1.body.clone();
            let Some(n) = new["n"].as_f64() else { return 400 };
            let sum = n + 2.0;
            new["n"] = sum.to_string().parse().unwrap();
        }
        (Rename, _) if items.iter().any(|(id, _)| *id == id_after(write)) => return 409,
        _ => {}
    }
    if items.iter().any(|(id, other)| *id != write.id && other.body["unique"] == new["unique"]) {
        return 409;
    }
    let entry = Entry { body: new, etag: "new".to_owned() };
    if let Some(place) = place {
        items[place] = (id_after(write), entry);
        return 200;
    }
    items.push((write.id, entry));
    201
}

fn operation(pk: u8, write: &Write, etags: &BTreeMap<(u8, u8), String>) -> ItemOperation {
    let item = body(pk, write);
    let id = write.id.to_string();
    let increment = || Patch {
        operations: vec![parsed(json!({"op": "incr", "path": "/n", "value": 2}))],
        condition: None,
    };
    let operation = match write.kind {
        Create => put(Mode::Create, &item),
        Upsert => put(Mode::Upsert, &item),
        Replace | Rename => ItemOperation { id: Some(id), ..put(Mode::Replace, &item) },
        Increment => of(Operation::Patch(increment()), &id),
        Delete => of(Operation::Delete, &id),
        Read => of(Operation::Read, &id),
    };
    let if_match = etags.get(&(pk, write.id)).cloned().unwrap_or_else(|| "\"none\"".to_owned());
    ItemOperation { if_match: write.with_etag.then_some(if_match), ..operation }
}

/// A consumer of both feeds: where it is in each range, and the items that it knows.
#[derive(Default)]
struct Consumer {
    positions: Vec<(EpkRange, Lsn, Lsn)>,
    latest: BTreeMap<String, (Lsn, Value)>,
    /// The `_rid` and the body.
    all: BTreeMap<String, (Value, Value)>,
}

impl Consumer {
    fn poll(&mut self, world: &World, page: usize) -> Result<(), TestCaseError> {
        let view = world.view();
        let partitions = view.partitions(world.container);
        let positions = std::mem::take(&mut self.positions);
        for (range, latest, all) in positions {
            for partition in &partitions {
                let part = range.intersection(&partition.range);
                if part.from >= part.until {
                    continue;
                }
                let (mut latest, mut all) = (latest, all);
                loop {
                    let changes = view.changes(world.container, partition.id, &part, latest, page);
                    for item in &changes.items {
                        prop_assert!(item.lsn > latest && item.lsn <= changes.until);
                        let item_value = without_system_properties(value(item));
                        let known = self.latest.insert(name(&item_value), (item.lsn, item_value));
                        prop_assert!(
                            known.is_none_or(|(lsn, _)| lsn < item.lsn),
                            "delivered twice"
                        );
                    }
                    latest = changes.until;
                    if !changes.more {
                        break;
                    }
                }
                prop_assert_eq!(latest, partition.lsn);
                loop {
                    let (versions, until) =
                        view.versions(world.container, partition.id, &part, all, page).unwrap();
                    for (_, version) in &versions {
                        let key: Value = serde_json::from_str(&version.key).unwrap();
                        let name = format!("{} {}", version.id, key[0]);
                        let known = match version.body() {
                            Some(body) => {
                                let item: Value = serde_json::from_slice(body).unwrap();
                                let rid = item["_rid"].clone();
                                let known = self.all.extract_if(.., |_, (other, _)| *other == rid);
                                let known = known.last().is_some();
                                self.all.insert(name, (rid, without_system_properties(item)));
                                known
                            }
                            None => self.all.remove(&name).is_some(),
                        };
                        prop_assert_eq!(!known, version.operation == "create");
                        prop_assert_eq!(
                            version.previous_lsn.is_none(),
                            version.operation == "create"
                        );
                    }
                    all = until;
                    if versions.is_empty() {
                        break;
                    }
                }
                self.positions.push((part, latest, all));
            }
        }
        Ok(())
    }
}

fn name(item: &Value) -> String {
    format!(
        "{} {}",
        item["id"].as_str().unwrap(),
        item.get("pk").cloned().unwrap_or_else(|| json!({}))
    )
}

fn check(world: &World, model: &Model) -> Result<(), TestCaseError> {
    let view = world.view();
    for pk in 0..4 {
        let key = parsed(key(pk));
        let range = view.range_of(world.container, &key).unwrap();
        let expected: Vec<_> =
            model.get(&pk).into_iter().flatten().map(|(_, entry)| entry.body.clone()).collect();
        let found: Vec<_> = world.scan(&range).into_iter().map(without_system_properties).collect();
        prop_assert_eq!(&found, &expected, "a scan is in the order of insertion");
        for id in 0..5_u8 {
            let expected =
                model.get(&pk).and_then(|items| items.iter().find(|(other, _)| *other == id));
            let found = view.read(world.container, &key, &id.to_string()).unwrap();
            prop_assert_eq!(
                found.map(|item| (without_system_properties(value(&item)), item.etag)),
                expected.map(|(_, entry)| (entry.body.clone(), entry.etag.clone()))
            );
        }
        check_indexes(world, &range, &expected)?;
    }
    let all: Vec<_> = model.values().flatten().map(|(_, entry)| entry.body.clone()).collect();
    check_indexes(world, &EpkRange::all(), &all)?;
    prop_assert_eq!(world.scan(&EpkRange::all()).len(), all.len());
    Ok(())
}

fn paths(composite: bool) -> Vec<Vec<String>> {
    let names: &[&str] = if composite { &["n", "unique"] } else { &["n"] };
    names.iter().map(|name| vec![(*name).to_owned()]).collect()
}

fn check_indexes(world: &World, range: &EpkRange, items: &[Value]) -> Result<(), TestCaseError> {
    for composite in [false, true] {
        let order = |item: &Value| -> Vec<_> {
            paths(composite).iter().map(|path| parsed(item[&path[0]].clone())).collect()
        };
        let compare = |one: Vec<Json>, other: Vec<Json>| one.cmp(&other);
        let wanted = IndexRange { paths: paths(composite), ..IndexRange::default() };
        let Some(found) = world.view().lookup(world.container, range, &wanted) else { continue };
        let found: Vec<_> = found.map(|item| without_system_properties(value(&item))).collect();
        prop_assert!(found.is_sorted_by(|one, other| compare(order(one), order(other)).is_le()));
        prop_assert_eq!(found.len(), items.len());
    }
    Ok(())
}

/// Returns the sum of the LSNs: a transaction has one.
fn lsns(world: &World) -> Lsn {
    world.view().partitions(world.container).iter().map(|one| one.lsn).sum()
}

fn story(steps: &[Step], folder: Option<&Folder>) -> Result<(), TestCaseError> {
    let definition = json!({
        "defaultTtl": -1, "changeFeedPolicy": {"retentionDuration": 60},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/unique"]}]},
    });
    let open = || Engine::open(folder.map(Folder::path)).unwrap();
    let mut world = World::of(open(), definition);
    let mut model = Model::new();
    let mut etags = BTreeMap::new();
    let mut consumer = Consumer { positions: vec![(EpkRange::all(), 0, 0)], ..Consumer::default() };
    for step in steps {
        match step {
            Step::Transact { pk, writes } => {
                let operations = writes.iter().map(|write| operation(*pk, write, &etags)).collect();
                let before = lsns(&world);
                let committed = world.transact(&key(*pk), operations).unwrap();
                let mut items = model.get(pk).cloned().unwrap_or_default();
                let mut statuses = Vec::new();
                for write in writes {
                    statuses.push(apply(&mut items, *pk, write, &etags));
                    if statuses.last().is_some_and(|status| *status >= 400) {
                        break;
                    }
                }
                let failed = statuses.iter().position(|status| *status >= 400);
                let is_new = failed.is_none() && writes.iter().any(|one| one.kind != Read);
                prop_assert_eq!(lsns(&world), before + Lsn::from(is_new));
                for (place, result) in committed.results.iter().enumerate() {
                    let expected = match failed {
                        Some(failed) if failed != place => 424,
                        _ => statuses[place],
                    };
                    let status =
                        result.as_ref().map_or_else(|refusal| refusal.status, |done| done.status);
                    prop_assert_eq!(status, expected, "{:?}", writes[place]);
                }
                if failed.is_none() {
                    for (write, result) in writes.iter().zip(&committed.results) {
                        if let Some(item) = result.as_ref().unwrap().item.as_ref() {
                            etags.insert((*pk, id_after(write)), item.etag.clone());
                            items
                                .iter_mut()
                                .filter(|(id, _)| *id == id_after(write))
                                .for_each(|(_, entry)| entry.etag.clone_from(&item.etag));
                        }
                    }
                    model.insert(*pk, items);
                }
            }
            Step::DeletePartition(pk) => {
                run(world.engine.delete_partition(world.container, &parsed(key(*pk)))).unwrap();
                model.remove(pk);
            }
            Step::Expire => {
                let expected = model
                    .values()
                    .flatten()
                    .filter(|(_, entry)| entry.body.get("ttl").is_some())
                    .count();
                for items in model.values_mut() {
                    items.retain(|(_, entry)| entry.body.get("ttl").is_none());
                }
                prop_assert_eq!(run(world.engine.expire(now() + 1001)), expected);
            }
            Step::Split(place) => {
                let partitions = world.view().partitions(world.container);
                let partition = partitions[place % partitions.len()].id;
                _ = run(world.engine.split(world.container, partition));
            }
            Step::Merge(place) => {
                let partitions = world.view().partitions(world.container);
                if let Some([one, other]) = partitions.windows(2).nth(*place) {
                    run(world.engine.merge(world.container, [other.id, one.id])).unwrap();
                }
            }
            Step::BuildIndex { composite, within } => {
                run(world.engine.build_index(world.container, &paths(*composite), *within));
            }
            Step::Poll => consumer.poll(&world, 2)?,
            Step::Reopen if folder.is_some() => {
                let container = world.container;
                drop(world);
                world = World { engine: open(), container };
            }
            Step::Reopen => {}
        }
        check(&world, &model)?;
    }
    consumer.poll(&world, 3)?;
    let items: BTreeMap<_, _> = model
        .values()
        .flatten()
        .map(|(_, entry)| (name(&entry.body), entry.body.clone()))
        .collect();
    for (name, body) in &items {
        prop_assert_eq!(consumer.latest.get(name).map(|(_, body)| body), Some(body));
    }
    let all: BTreeMap<_, _> =
        consumer.all.into_iter().map(|(name, (_, body))| (name, body)).collect();
    prop_assert_eq!(all, items, "all versions and deletes make the state");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_engine_in_memory_does_what_a_list_does(steps in prop::collection::vec(step(), 1..60)) {
        story(&steps, None)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn an_engine_on_disk_does_what_a_list_does_also_when_it_is_opened_again(steps in prop::collection::vec(step(), 1..40)) {
        story(&steps, Some(&Folder::new()))?;
    }
}
