//! A cursor that a caller has written leads to the rest of the same list, or nowhere.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    every_list::{self, AnyList, EVERY_LIST, ids_of},
    expect::bad_fields,
};
use crate::world::World;

const LIMIT: usize = 2;

/// What a caller makes of a cursor.
#[derive(Debug, Clone)]
struct Forgery {
    /// Which list, and which of its cursors.
    list: Index,
    cursor: Index,
    /// Which of the cursor's values, and what it becomes.
    values: Vec<(Index, Value)>,
}

fn values() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![
        Just("0000-01-01T00:00:00.000Z".to_owned()),
        Just("9999-12-31T23:59:59.999Z".to_owned()),
        Just("2026-11-21T09:25:54.123Z".to_owned()),
        Just("99999-01-01T00:00:00Z".to_owned()),
        Just("a".repeat(3_000)),
        Just("\u{10ffff}".to_owned()),
        Just("a/b".to_owned()),
        "[a-zA-Z0-9:.-]{0,40}",
        ".{0,12}",
        (0..40_i64).prop_map(|days| {
            let date = time::OffsetDateTime::now_utc() - time::Duration::days(days);
            date.format(&time::format_description::well_known::Rfc3339).unwrap()
        }),
    ];
    prop_oneof![
        8 => texts.prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([])),
        1 => Just(json!(["0000-01-01T00:00:00.000Z", ["0000-01-01T00:00:00.000Z", "a"]])),
    ]
}

fn forgeries() -> impl Strategy<Value = Forgery> {
    let values = proptest::collection::vec((any::<Index>(), values()), 1..3);
    (any::<Index>(), any::<Index>(), values).prop_map(|(list, cursor, values)| Forgery {
        list,
        cursor,
        values,
    })
}

/// A list as an honest caller reads it.
struct Honest {
    list: AnyList,
    ids: Vec<String>,
    cursors: Vec<String>,
    /// The most store requests and request units of a page, from wherever it begins.
    page: (usize, f64),
}

impl Honest {
    async fn of(world: &World, list: AnyList) -> Self {
        let (ids, mut cursors, mut most) = (list.ids(world, 1).await, Vec::new(), (0, 0.0));
        let mut cursor = None;
        loop {
            let (_, page) = cost(world, list, cursor.as_deref()).await;
            most = (most.0.max(page.0), f64::max(most.1, page.1));
            let step = list.page(world, 1, cursor.as_deref()).await;
            match step["nextCursor"].as_str() {
                Some(next) => cursors.push(next.to_owned()),
                None => return Self { list, ids, cursors, page: most },
            }
            cursor = cursors.last().cloned();
        }
    }
}

/// A page, with its store requests and request units.
async fn cost(
    world: &World,
    list: AnyList,
    cursor: Option<&str>,
) -> (crate::world::Answer, (usize, f64)) {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let mark = world.endpoint.request_count();
    let answer = world.get(&format!("{}limit={LIMIT}{cursor}", list.path)).await;
    let requests = world.endpoint.request_count() - mark;
    let units = answer.header("x-ms-request-charge").parse().unwrap_or(0.0);
    (answer, (requests, units))
}

fn decoded(cursor: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap()).unwrap()
}

fn encoded(cursor: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(cursor.to_string())
}

/// All values in a value that are no arrays, and the whole.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(values) => values.iter_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

#[test]
fn a_forged_cursor_is_refused_or_shows_a_part_of_the_same_list_for_the_price_of_a_page() {
    let runtime = Runtime::new().unwrap();
    let (world, lists) = runtime.block_on(async {
        let world = every_list::world().await;
        let mut lists = Vec::new();
        for list in EVERY_LIST {
            lists.push(Honest::of(&world, list).await);
        }
        (world, lists)
    });
    let check = |forgery: Forgery| {
        let Honest { list, ids, cursors, page } = forgery.list.get(&lists);
        let mut cursor = decoded(forgery.cursor.get::<String>(cursors));
        for (index, value) in forgery.values {
            let mut leaves = leaves(&mut cursor);
            let n = index.index(leaves.len());
            *leaves[n] = value;
        }
        let (answer, (requests, units)) =
            runtime.block_on(cost(&world, *list, Some(&encoded(&cursor))));
        if answer.status != 200 {
            prop_assert_eq!(bad_fields(&answer), ["cursor"]);
            prop_assert_eq!(requests, 0);
            return Ok(());
        }
        let found = ids_of(&answer.json());
        prop_assert!(found.len() <= LIMIT);
        let is_part = found.is_empty() || ids.windows(found.len()).any(|part| part == found);
        prop_assert!(is_part, "{found:?} of {ids:?} by {cursor}");
        // An empty page of products reads their category, too, and once a minute a list of news reads
        // how far the migration has come.
        let is_a_page = requests <= page.0 + 1 && units <= page.1 + 2.0;
        prop_assert!(is_a_page, "{requests} requests, {units} request units: {page:?}");
        Ok(())
    };
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) };
    TestRunner::new(config).run(&forgeries(), check).unwrap();
}

/// The window of a list is in the request alone.
#[tokio::test]
async fn a_position_outside_of_the_window_is_refused() {
    let world = every_list::world().await;
    let window = "/api/news/items?from=2026-01-01&to=2026-03-01&limit=1";
    let path = "/api/news/items?from=2026-01-01T00%3A00%3A00.000Z&to=2026-03-01T00%3A00%3A00.000Z";
    let at = async |date: &str| {
        let cursor = encoded(&json!([path, [format!("{date}T00:00:00.000Z"), "a"]]));
        world.get(&format!("{window}&cursor={cursor}")).await
    };
    for outside in ["0000-01-01", "2025-12-31", "2026-03-02", "9999-12-31"] {
        assert_eq!(bad_fields(&at(outside).await), ["cursor"], "{outside}");
    }
    for inside in ["2026-01-01", "2026-02-11", "2026-03-01"] {
        at(inside).await.expect(200);
    }
}

/// As cursors once were: with a window of their own.
#[tokio::test]
async fn a_cursor_with_a_window_of_its_own_is_refused() {
    let world = every_list::world().await;
    let list = "/api/news/items?provider=reuters";
    let date = "2026-11-21T09:25:54.123Z";
    let cursor = encoded(&json!([list, ["0000-01-01T00:00:00.000Z", [date, "a"]]]));
    let answer = world.get(&format!("{list}&limit=100&cursor={cursor}")).await;
    assert_eq!(bad_fields(&answer), ["cursor"]);
}
