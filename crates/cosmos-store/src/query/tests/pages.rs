use std::cmp::Ordering;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::World;
use crate::{
    engine::{EpkRange, Item, Name, tests::run},
    json::Json,
    query::{ResumeFilter, WantedIndex, Work, page::Limits},
    sql::{Groups, Prepared, Row, tests::cases},
};

fn world() -> World {
    let composite = |paths: &[(&str, &str)]| -> Value {
        paths.iter().map(|(path, order)| json!({"path": path, "order": order})).collect()
    };
    World::new(json!({
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "indexingPolicy": {
            "includedPaths": [{"path": "/*"}, {"path": "/m/?"}],
            "excludedPaths": [{"path": "/hidden/?"}],
            "compositeIndexes": [
                composite(&[("/n", "ascending"), ("/m", "ascending")]),
                composite(&[("/n", "ascending"), ("/m", "descending")]),
                composite(&[("/s", "ascending"), ("/n", "ascending")]),
            ],
        },
        "computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(x.s) FROM x"}],
    }))
}

fn filled() -> World {
    let world = world();
    for (id, item) in [
        json!({"n": 2, "m": 1, "s": "B", "l": [1, 2]}),
        json!({"n": 1, "m": 1, "s": "a", "l": [3]}),
        json!({"m": 5, "s": "C"}),
        json!({"n": 2, "m": 3, "s": "a", "l": []}),
        json!({"n": 1, "m": null, "s": "b", "l": [1]}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut item = item;
        item["id"] = id.to_string().into();
        item["pk"] = "a".into();
        world.create(&item);
    }
    world
}

#[test]
fn queries_give_what_the_service_gives() {
    let world = filled();
    let table = r#"
        SELECT VALUE c.id FROM c => ["0", "1", "2", "3", "4"]
        SELECT VALUE c.n FROM c => [2, 1, 2, 1]
        SELECT VALUE c.id FROM c WHERE c["s"] = "a" OR c.n = 2 => ["0", "1", "3"]
        SELECT VALUE c.id FROM c OFFSET 1 LIMIT 3 => ["1", "2", "3"]
        SELECT TOP 3 VALUE x FROM c JOIN x IN c.l => [1, 2, 3]
        // Items without the property are left out, unless the policy includes the path by name.
        SELECT VALUE c.id FROM c ORDER BY c.n => ["1", "4", "0", "3"]
        SELECT VALUE c.id FROM c ORDER BY c.n DESC => ["3", "0", "4", "1"]
        SELECT VALUE c.id FROM c ORDER BY c.m => ["4", "0", "1", "3", "2"]
        SELECT VALUE c.id FROM c ORDER BY c.n, c.m DESC => ["2", "1", "4", "3", "0"]
        SELECT DISTINCT VALUE c.n FROM c => [2, 1]
        SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n => [1, 2]
        SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.s FROM c) => [4]
        SELECT COUNT(1) AS k FROM (SELECT DISTINCT VALUE c.n FROM c) => [{"k": 2}]
        SELECT VALUE SUM(c.n) FROM c => [6]
        SELECT VALUE COUNT(1) FROM c ORDER BY c.n => [4]
        SELECT VALUE MAX(c.nope) FROM c => []
        SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n => [{"n": 2, "k": 2}, {"n": 1, "k": 2}, {"k": 1}]
        SELECT VALUE 1 + 1 => [2]
        SELECT VALUE c.lower FROM c WHERE c.lower > 'a' => ["b", "c", "b"]
        SELECT c.lower FROM c ORDER BY c.lower DESC OFFSET 0 LIMIT 2 => [{"lower": "c"}, {"lower": "b"}]
        // The queries that SDKs send to partitions.
        SELECT VALUE [{"item": {"sum": SUM(c.n), "count": COUNT(c.n)}}] FROM c
            => [[{"item": {"sum": 6, "count": 4}}]]
        SELECT [{"item": c.n}] AS groupByItems, {"n": c.n, "k": {"item": COUNT(1)}} AS payload
            FROM c GROUP BY c.n OFFSET 0 LIMIT 1
            => [{"groupByItems": [{"item": 2}], "payload": {"n": 2, "k": {"item": 2}}}]
        SELECT [{"item": c.n}] AS orderByItems, c.id AS payload FROM c WHERE (c.n < 2 AND (true)) ORDER BY c.n
            => [{"orderByItems": [{"item": 1}], "payload": "1"}, {"orderByItems": [{"item": 1}], "payload": "4"}]
    "#;
    for (query, expected) in cases(table) {
        let results = world.all(&query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(Value::from(results), expected.parse::<Value>().expect("JSON"), "{query}");
    }
}

#[test]
fn an_order_without_its_index_is_refused() {
    let world = filled();
    for (query, text) in [
        ("SELECT * FROM c ORDER BY c.hidden", "order-by item is excluded"),
        ("SELECT * FROM c ORDER BY c.m, c.n", "does not have a corresponding composite index"),
        ("SELECT * FROM c ORDER BY LOWER(c.s)", "could not be mapped to a document path"),
        ("SELECT VALUE x FROM c JOIN x IN c.l ORDER BY x.a", "correlated collections"),
    ] {
        let refusal = world.all(query).unwrap_err();
        assert_eq!(refusal.status, 400, "{query}");
        assert!(refusal.message.contains(text), "{query}: {refusal}");
    }
    assert!(world.all("SELECT * FROM c ORDER BY c.n DESC, c.m DESC").is_ok());
    assert!(world.all("SELECT * FROM c ORDER BY c.n DESC, c.m").is_ok());
}

#[test]
fn a_continuation_of_another_query_is_refused() {
    let world = filled();
    let prepared = |text: &str, n: f64| {
        Prepared::new(text, vec![("@n".to_owned(), Json::Number(n))]).expect("a query")
    };
    let query = prepared("SELECT * FROM c WHERE c.m > @n", 0.0);
    let all = EpkRange::all();
    let page = world.page(&query, &all, Some(1), None, None).expect("a page");
    let continuation = page.continuation.expect("a continuation");
    assert!(world.page(&query, &all, Some(1), Some(&continuation), None).is_ok());
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(&continuation).expect("base64");
    let cut = BASE64_URL_SAFE_NO_PAD.encode(&bytes[..bytes.len() / 2]);
    let other_value = prepared("SELECT * FROM c WHERE c.m > @n", 1.0);
    let other_query = prepared("SELECT * FROM c", 0.0);
    // Behind the place of a continuation, another logical partition may have nothing.
    let other_key = view_range(&world, "b");
    for (query, range, token) in [
        (&other_value, &all, &*continuation),
        (&other_query, &all, &continuation),
        (&query, &other_key, &continuation),
        (&query, &all, &cut),
        (&query, &all, "AAAA"),
        (&query, &all, &"A".repeat(100_000)),
    ] {
        let refusal = world.page(query, range, None, Some(token), None);
        assert_eq!(refusal.unwrap_err().message, "Invalid Continuation Token");
    }
    // The container is another one of the same name.
    let anew = async {
        world.engine.delete_container(world.container).await.expect("the container");
        let definition = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}});
        world.engine.create_container(Name::Id("d"), &definition, 1, None).await.expect("another");
    };
    run(anew);
    let refusal = world.page(&query, &EpkRange::all(), None, Some(&continuation), None);
    assert_eq!(refusal.unwrap_err().message, "Invalid Continuation Token");
}

#[test]
fn an_sdk_goes_on_behind_a_value_and_an_item() {
    let world = filled();
    let view = world.engine.view();
    let rid = |id: &str| {
        let key = Json::from(&json!(["a"]));
        let item = view.read(world.container, &key, id).expect("a key").expect("an item");
        let item: Value = serde_json::from_slice(&item.body).expect("JSON");
        Some(item["_rid"].as_str().expect("text").to_owned())
    };
    let ids = |query: &str, value: Value, rid: Option<String>, exclude: bool| {
        let query = Prepared::new(query, Vec::new()).expect("a query");
        let resume = ResumeFilter { value: vec![(&value).into()], rid, exclude };
        let page = world.page(&query, &EpkRange::all(), None, None, Some(resume)).expect("a page");
        page.results.concat()
    };
    let up = "SELECT VALUE c.id FROM c ORDER BY c.n";
    let down = "SELECT VALUE c.id FROM c ORDER BY c.n DESC";
    for _ in 0..2 {
        assert_eq!(ids(up, json!(1), rid("4"), false), br#""4""0""3""#);
        assert_eq!(ids(up, json!(1), rid("4"), true), br#""0""3""#);
        assert_eq!(ids(up, json!(1), None, true), br#""0""3""#);
        assert_eq!(ids(up, json!(1), None, false), br#""1""4""0""3""#);
        assert_eq!(ids(down, json!(2), rid("0"), false), br#""0""4""1""#);
        assert_eq!(ids(down, json!(2), None, true), br#""4""1""#);
        build(&world, &["n"], false);
    }
    // What the .NET SDK sends for an array or object, and what no SDK sends.
    let query = Prepared::new(up, Vec::new()).expect("a query");
    for (value, status) in [(json!({"type": "array", "low": 1, "high": 2}), 501), (json!([1]), 400)]
    {
        let resume = ResumeFilter { value: vec![(&value).into()], rid: None, exclude: false };
        let refusal = world.page(&query, &EpkRange::all(), None, None, Some(resume)).unwrap_err();
        assert_eq!(refusal.status, status, "{refusal}");
    }
}

#[test]
fn a_query_that_scans_much_asks_for_an_index_and_then_uses_it() {
    let world = world();
    for n in 0..300 {
        let item = json!({"id": n.to_string(), "pk": "a", "n": n % 100, "m": n, "s": "x"});
        world.create(&item);
    }
    let range = view_range(&world, "a");
    for (text, wanted) in [
        ("SELECT * FROM c WHERE c.n = 7", vec!["n"]),
        ("SELECT TOP 3 * FROM c WHERE c.n >= 98 AND c.n < 99", vec!["n"]),
        ("SELECT TOP 3 * FROM c ORDER BY c.n DESC", vec!["n"]),
        // An index in both directions has the order of the first property.
        ("SELECT TOP 3 * FROM c ORDER BY c.n, c.m DESC", vec!["n"]),
        ("SELECT TOP 3 * FROM c WHERE c.s = 'x' ORDER BY c.n", vec!["s", "n"]),
        ("SELECT TOP 3 * FROM c WHERE c.s = 'x' AND c.n = 5", vec!["s", "n"]),
    ] {
        let query = Prepared::new(text, Vec::new()).expect("a query");
        let before = world.page(&query, &range, None, None, None).expect("a page");
        let paths: Vec<Vec<String>> = wanted.iter().map(|name| vec![(*name).to_owned()]).collect();
        if let Some(found) = &before.wanted {
            let within_logical_partition = true;
            assert_eq!(*found, WantedIndex { paths: paths.clone(), within_logical_partition });
            build(&world, &wanted, true);
        }
        let after = world.page(&query, &range, None, None, None).expect("a page");
        assert_eq!(after.results, before.results, "{text}");
        // A query costs the same before and after.
        let matched = |work: Work| (work.items_matched, work.bytes_matched);
        assert_eq!(matched(after.work), matched(before.work), "{text}");
        assert_eq!(after.work.items_matched as usize, after.results.len(), "{text}");
        assert!(after.work.items_loaded <= 4, "{text}: {:?}", after.work);
        assert_eq!(after.wanted, None);
    }
    // Pages of equal values load no item again.
    build(&world, &["s"], true);
    for text in ["SELECT * FROM c ORDER BY c.s DESC", "SELECT * FROM c WHERE c.s = 'x'"] {
        let query = Prepared::new(text, Vec::new()).expect("a query");
        let mut continuation = None;
        for _ in 0..3 {
            let page = world.page(&query, &range, Some(100), continuation.as_deref(), None);
            let page = page.expect("a page");
            assert_eq!((page.results.len(), page.work.items_loaded), (100, 100), "{text}");
            continuation = page.continuation;
        }
        assert_eq!(continuation, None);
    }
}

/// The service indexes the id whatever the policy excludes.
#[test]
fn an_id_of_any_partition_is_found_by_an_index_that_the_policy_need_not_have() {
    let world = World::new(json!({
        "partitionKey": {"paths": ["/pk"]},
        "indexingPolicy": {"includedPaths": [], "excludedPaths": [{"path": "/*"}]},
    }));
    for n in 0..300 {
        world.create(&json!({"id": n.to_string(), "pk": (n % 7).to_string()}));
    }
    let text = "SELECT * FROM c WHERE c.id IN ('299', '7', 'none')";
    let query = Prepared::new(text, Vec::new()).expect("a query");
    let page = || world.page(&query, &EpkRange::all(), None, None, None).expect("a page");
    let before = page();
    assert_eq!(before.wanted.map(|wanted| wanted.paths), Some(vec![vec!["id".to_owned()]]));
    build(&world, &["id"], false);
    let after = page();
    assert_eq!((after.results.len(), after.work.items_loaded), (2, 2));
    assert_eq!(after.results, before.results);
}

#[test]
fn an_order_begins_at_the_value_that_the_filter_has_for_its_first_property() {
    let mut world = world();
    world.limits = Limits { selected: 9, ..world.limits };
    for n in 0..300 {
        world.create(&json!({"id": n.to_string(), "pk": "a", "n": n % 10, "m": n}));
    }
    build(&world, &["n", "m"], false);
    for (filter, order, expected) in [
        ("c.m > 100", "c.n, c.m", [108, 118, 128]),
        ("c.m < 100", "c.n DESC, c.m DESC", [98, 88, 78]),
    ] {
        let text = format!("SELECT VALUE c.m FROM c WHERE c.n = 8 AND {filter} ORDER BY {order}");
        let query = Prepared::new(&text, Vec::new()).expect("a query");
        let mut continuation = None;
        for m in expected {
            let page = world.page(&query, &EpkRange::all(), Some(1), continuation.as_deref(), None);
            let page = page.expect("a page");
            assert_eq!(page.results.concat(), m.to_string().into_bytes(), "{text}");
            assert!(page.work.items_loaded <= 2, "{text}: {:?}", page.work);
            continuation = page.continuation;
        }
    }
}

#[test]
fn items_are_read_by_their_ids() {
    let world = world();
    for n in 0..40 {
        world.create(&json!({"id": n.to_string(), "pk": (n % 10).to_string()}));
    }
    let text = "SELECT * FROM c WHERE (c.id = '1' AND c.pk = '1') OR (c.id = '32' AND c.pk = '2')";
    let query = Prepared::new(text, Vec::new()).expect("a query");
    let page = world.page(&query, &EpkRange::all(), None, None, None).expect("a page");
    assert_eq!((page.results.len(), page.work.items_loaded), (2, 2));
    let count = Prepared::new("SELECT VALUE COUNT(1) FROM c", Vec::new()).expect("a query");
    let page = world.page(&count, &EpkRange::all(), None, None, None).expect("a page");
    assert_eq!((page.results.concat(), page.work.items_loaded), (b"40".to_vec(), 0));
}

#[test]
fn a_page_has_at_most_four_megabytes() {
    let world = world();
    for n in 0..6 {
        world.create(&json!({"id": n.to_string(), "pk": "a", "n": n, "t": "x".repeat(1 << 20)}));
    }
    for text in
        ["SELECT * FROM c", "SELECT c.t FROM c ORDER BY c.n", "SELECT DISTINCT c.id, c.t FROM c"]
    {
        let query = Prepared::new(text, Vec::new()).expect("a query");
        let mut continuation = None;
        for is_last in [false, true] {
            let page = world.page(&query, &EpkRange::all(), None, continuation.as_deref(), None);
            let page = page.expect("a page");
            assert_eq!((page.results.len(), page.continuation.is_none()), (3, is_last), "{text}");
            continuation = page.continuation;
        }
    }
}

fn view_range(world: &World, key: &str) -> EpkRange {
    let key = Json::from(&json!([key]));
    world.engine.view().range_of(world.container, &key).expect("a range")
}

fn build(world: &World, names: &[&str], within: bool) {
    let paths: Vec<_> = names.iter().map(|name| vec![(*name).to_owned()]).collect();
    run(world.engine.build_index(world.container, &paths, within));
}

/// What happens between two pages.
#[derive(Clone, Debug)]
enum Change {
    None,
    Index(&'static [&'static str], bool),
    Split,
}

fn change() -> impl Strategy<Value = Change> {
    let paths: [&'static [&'static str]; 7] =
        [&["n"], &["m"], &["s"], &["n", "m"], &["s", "n"], &["id"], &["_ts"]];
    prop_oneof![
        2 => Just(Change::None),
        6 => (prop::sample::select(paths.to_vec()), any::<bool>()).prop_map(|(paths, within)| Change::Index(paths, within)),
        1 => Just(Change::Split),
    ]
}

fn scalar() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        1 => Just(None),
        6 => (-1..4_i32).prop_map(|value| Some(value.into())),
        2 => prop::sample::select(r#"null true false "" "a" "ab""#.split(' ').collect::<Vec<_>>())
            .prop_map(|value| value.parse().ok()),
        1 => prop::sample::select(r#"[] [1] [1,2] ["a",null] {} {"x":1,"a":0}"#.split(' ').collect::<Vec<_>>())
            .prop_map(|value| value.parse().ok()),
        1 => (1_100..1_102_usize).prop_map(|length| Some("x".repeat(length).into())),
    ]
}

fn item() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec!["a", "b", "B", "c"]);
    (scalar(), scalar(), texts, 0..3_u8, prop::collection::vec(0..3_u8, 0..3)).prop_map(
        |(n, m, s, pk, l)| {
            let mut item = json!({"pk": pk.to_string(), "s": s, "l": l});
            for (name, value) in [("n", n), ("m", m)] {
                if let Some(value) = value {
                    item[name] = value;
                }
            }
            item
        },
    )
}

fn query() -> impl Strategy<Value = String> {
    let texts = |texts: &'static [&'static str]| prop::sample::select(texts.to_vec());
    let clauses = |clause: &'static str, texts: &'static str| {
        let texts: Vec<_> = texts.split(" | ").map(|text| format!("{clause} {text}")).collect();
        prop_oneof![1 => Just(String::new()), 6 => prop::sample::select(texts)]
    };
    let filters = "c.n = 1 | c.n > 0 | c.n <= 1 AND c.s = 'a' | c.n BETWEEN 0 AND 2 AND c.m != 1 | \
                   c.n IN (3, 1, 'a', null) | c.s >= 'b' OR c.n = 2 | c.pk = '1' AND c.n < 2 | c.pk IN ('2', '0') | \
                   2 > c.m AND c.m > -1 AND c.n = 1 | c.n = 1 AND c.n = 2 | NOT c.n | \
                   c.n = @one OR (c.n = 2 AND c.s = 'a') | c.s = 'a' AND c.n >= 1 | c._ts > 5 AND c.s = 'a' | \
                   c.id IN ('1', '3', '7', 'x') | (c.id = '1' AND c.pk = '0') OR (c.id = '2' AND c.pk = '1')";
    let filter = clauses("WHERE", filters);
    let orders = "c.n | c.n DESC | c.m | c.m DESC | c.n, c.m | c.n DESC, c.m DESC | c.n DESC, c.m | \
                  c.s DESC, c.n DESC | c._ts DESC";
    let order = clauses("ORDER BY", orders);
    let limit = texts(&["", "", "OFFSET 1 LIMIT 4", "OFFSET 3 LIMIT 100", "OFFSET 0 LIMIT 0"]);
    let limit = prop_oneof![2 => limit.prop_map(|limit| ("", limit)), 1 => Just(("TOP 3", ""))];
    let select = texts(&["*", "VALUE c", "c.id, c.n", "VALUE c.n", "VALUE [{\"item\": c.n}]"]);
    let plain = (select, filter.clone(), order.clone(), limit.clone()).prop_map(
        |(select, filter, order, (top, limit))| {
            format!("SELECT {top} {select} FROM c {filter} {order} {limit}")
        },
    );
    let joined =
        (filter.clone(), order.clone(), limit.clone()).prop_map(|(filter, order, (top, limit))| {
            format!("SELECT {top} c.id, x FROM c JOIN x IN c.l {filter} {order} {limit}")
        });
    let distinct =
        (texts(&["VALUE c.n", "c.n, c.s", "VALUE x"]), filter.clone(), order, limit.clone())
            .prop_map(|(select, filter, order, (top, limit))| {
                let join = if select == "VALUE x" { "JOIN x IN c.l" } else { "" };
                format!("SELECT DISTINCT {top} {select} FROM c {join} {filter} {order} {limit}")
            });
    let group = texts(&["c.n, COUNT(1) AS k, MAX(c.m) AS m", "c.n", "VALUE c.n"]);
    let grouped = (group, filter.clone(), limit).prop_map(|(group, filter, (top, limit))| {
        format!("SELECT {top} {group} FROM c {filter} GROUP BY c.n {limit}")
    });
    let summed = (texts(&["VALUE COUNT(1)", "SUM(c.n), MIN(c.s)", "VALUE AVG(c.m)"]), filter)
        .prop_map(|(sum, filter)| format!("SELECT {sum} FROM c {filter}"));
    prop_oneof![6 => plain, 2 => joined, 2 => distinct, 1 => grouped, 1 => summed]
}

/// Evaluates a query as its text says it: all items, a stable sort, then the limits.
fn naive(query: &Prepared, items: &[Item]) -> Vec<Vec<u8>> {
    let mut rows: Vec<(Row, usize)> = Vec::new();
    let mut number: Vec<usize> = (0..items.len()).collect();
    // Equal values follow by the number of the item.
    number.sort_by_key(|n| items[*n].place.last_chunk::<8>().copied());
    let rank = |n: usize| number.iter().position(|one| *one == n).unwrap_or_default();
    for (n, item) in items.iter().enumerate() {
        let json = Json::parse(&item.body).expect("JSON");
        rows.extend(query.rows(&json).expect("rows").into_iter().map(|row| (row, rank(n))));
    }
    let by = &query.query.order_by;
    let named = |path: &str| path == "c.m";
    if let [one] = by.as_slice()
        && !named(&one.by.to_string())
    {
        rows.retain(|(row, _)| row.order[0].is_some());
    }
    let direct = |descending: bool, compared: Ordering| {
        if descending { compared.reverse() } else { compared }
    };
    if !by.is_empty() {
        rows.sort_by(|(one, rank), (other, other_rank)| {
            let values = by.iter().zip(one.order.iter().zip(&other.order));
            let values = values.map(|(by, (one, other))| direct(by.descending, one.cmp(other)));
            values
                .fold(Ordering::Equal, Ordering::then)
                .then(direct(by[0].descending, rank.cmp(other_rank)))
        });
    }
    let rows = rows.into_iter().map(|(row, _)| row);
    let mut results: Vec<Json> = if query.plan.is_grouped {
        let mut groups = Groups::default();
        rows.for_each(|row| groups.add(&query.plan, row).expect("a row"));
        groups.results(query).expect("results")
    } else {
        rows.filter_map(|row| row.result).collect()
    };
    if query.query.distinct {
        let mut seen: Vec<Json> = Vec::new();
        results.retain(|result| {
            let is_new = !seen.contains(result);
            seen.push(result.clone());
            is_new
        });
    }
    let (offset, limit) = query.plan.offset_limit.unwrap_or((0, u32::MAX));
    let limit = limit.min(query.plan.top.unwrap_or(u32::MAX));
    let results = results.iter().skip(offset as usize).take(limit as usize);
    results.map(|result| result.to_string().into_bytes()).collect()
}

proptest! {
    #[test]
    fn pages_put_together_are_the_whole_result(
        items in prop::collection::vec(item(), 0..25),
        queries in prop::collection::vec((query(), 0..3_usize), 1..6),
        sizes in prop::collection::vec((1..6_u32, change()), 1..8),
    ) {
        let mut world = world();
        world.limits = Limits { loaded: 9, selected: 6, selected_of_all: 10, ..world.limits };
        for (id, item) in items.iter().enumerate() {
            let mut item = item.clone();
            item["id"] = id.to_string().into();
            world.create(&item);
        }
        let mut sizes = sizes.iter().cycle();
        for (n, (text, range)) in queries.iter().enumerate() {
            // Indexes are kept by each write.
            world.create(&json!({"id": format!("new{n}"), "pk": "1", "n": n % 3, "s": "a", "l": [n]}));
            let range = match range {
                0 => EpkRange::all(),
                1 => view_range(&world, "1"),
                _ => {
                    let partitions = world.engine.view().partitions(world.container);
                    partitions.first().expect("a partition").range.clone()
                }
            };
            let parameters = vec![("@one".to_owned(), Json::Number(1.0))];
            let query = Prepared::new(text, parameters).expect("a query");
            let items: Vec<Item> = world.engine.view().scan(world.container, &range, None).collect();
            let expected = naive(&query, &items);
            let mut found = Vec::new();
            let mut continuation = None;
            for n_pages in 0.. {
                let (size, change) = sizes.next().expect("endless");
                match change {
                    Change::None => {}
                    Change::Index(paths, within) => build(&world, paths, *within),
                    Change::Split => {
                        let partitions = world.engine.view().partitions(world.container);
                        let last = partitions.last().expect("a partition").id;
                        // One logical partition cannot be split.
                        let _ = run(world.engine.split(world.container, last));
                    }
                }
                let page = world.page(&query, &range, Some(*size), continuation.as_deref(), None);
                let page = page.unwrap_or_else(|error| panic!("{text}: {error}"));
                prop_assert!(page.results.len() <= *size as usize);
                found.extend(page.results);
                continuation = page.continuation;
                if continuation.is_none() {
                    break;
                }
                prop_assert!(n_pages < 200, "{text} has no end");
            }
            let text_of = |all: &[Vec<u8>]| all.iter().map(|one| String::from_utf8_lossy(one).into_owned()).collect::<Vec<_>>();
            prop_assert_eq!(text_of(&found), text_of(&expected), "{}", text);
        }
    }
}
