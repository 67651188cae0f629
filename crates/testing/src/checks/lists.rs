//! Lists in pages: each item once, without unreadable ones. A forged cursor leads to a part of the same
//! list at most.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tributary_functions::values::Timestamp;

use crate::{Answer, AppUnderTest, World, problems::refusal};

const MAX_PAGES: usize = 1_000;

/// A list of an app.
#[derive(Debug, Clone, Copy)]
pub struct ListUnderTest {
    /// The path, with a filter that all of its items meet, up to the parameters of the page:
    /// `/api/rooms/r1/bookings?`.
    pub path: &'static str,
    /// The container.
    pub container: &'static str,
    /// Properties that tell its items from others of the container, with their values.
    pub having: &'static [(&'static str, &'static str)],
    /// The prefix of the stored ids that the list leaves out.
    pub id_prefix: &'static str,
    /// A property that the list needs of every item.
    pub needs: &'static str,
    /// The date that the list is sorted by.
    pub date: Option<&'static str>,
}

impl ListUnderTest {
    /// Sends a request for a page.
    pub async fn page<A: AppUnderTest>(
        self,
        world: &World<A>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Answer {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        world.get(&format!("{}limit={limit}{cursor}", self.path)).await
    }

    /// Returns the ids of all items, page by page.
    pub async fn ids<A: AppUnderTest>(self, world: &World<A>, limit: usize) -> Vec<String> {
        self.pages(world, limit).await.iter().flat_map(ids_of).collect()
    }

    async fn pages<A: AppUnderTest>(self, world: &World<A>, limit: usize) -> Vec<Value> {
        let mut pages = vec![self.page(world, limit, None).await.expect(200).json()];
        while let Some(cursor) = pages[pages.len() - 1]["nextCursor"].as_str() {
            let page = self.page(world, limit, Some(cursor)).await.expect(200).json();
            pages.push(page);
            assert!(pages.len() <= MAX_PAGES, "{} does not end", self.path);
        }
        pages
    }

    /// Returns the stored items of the list.
    pub async fn stored<A: AppUnderTest>(self, world: &World<A>) -> Vec<Value> {
        let ids: BTreeSet<String> = self.ids(world, 100).await.into_iter().collect();
        let mut items = world.items(self.container).await;
        items.retain(|item| {
            self.having.iter().all(|(name, value)| item[*name] == *value)
                && ids.contains(&self.id_of(item))
        });
        items
    }

    fn id_of(self, item: &Value) -> String {
        let id = item["id"].as_str().unwrap();
        id.strip_prefix(self.id_prefix).unwrap_or(id).to_owned()
    }

    /// Checks that pages of each size show the same items in the same order, each once. Every page but the
    /// last is full, and a cursor leads to the same page at another instance.
    pub async fn shows_each_item_once<A: AppUnderTest>(self, world: &World<A>) {
        let all = self.ids(world, 100).await;
        assert!(all.len() > 3, "{} needs more items for this check", self.path);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{}", self.path);
        let other = world.second_instance().await;
        for limit in [1, 2, 3] {
            let pages = self.pages(world, limit).await;
            assert_eq!(pages, self.pages(&other, limit).await, "{}", self.path);
            let shown: Vec<Vec<String>> = pages.iter().map(ids_of).collect();
            let (_, full) = shown.split_last().unwrap();
            let is_full = |page: &Vec<String>| page.len() == limit;
            assert!(full.iter().all(is_full), "{}: a page is not full", self.path);
            assert_eq!(shown.concat(), all, "{} by {limit}", self.path);
        }
    }

    /// Checks that the list leaves out any number of items that the app cannot read, such as those of
    /// another program, and shows the items behind them.
    pub async fn leaves_unreadable_items_out<A: AppUnderTest>(self, world: &World<A>) {
        let all = self.ids(world, 2).await;
        assert!(all.len() > 5, "{} needs more items for this check", self.path);
        let unreadable = |item: &mut Value| item[self.needs] = json!({"of": "another program"});
        // One in the middle; a page of them; all but the last.
        for (first, last) in [(2, 2), (1, 4), (0, all.len() - 2)] {
            self.leaves_out(world, &all, &all[first..=last], unreadable).await;
        }
        // Of these not even the position in the list can be read.
        if let Some(date) = self.date {
            let undated = |item: &mut Value| {
                item[date] = json!(format!("{} or so", item[date].as_str().unwrap()));
            };
            self.leaves_out(world, &all, &all[..4], undated).await;
        }
        assert_eq!(self.ids(world, 2).await, all);
    }

    async fn leaves_out<A: AppUnderTest>(
        self,
        world: &World<A>,
        all: &[String],
        bad: &[String],
        spoil: impl Fn(&mut Value),
    ) {
        let mut items = self.stored(world).await;
        assert_eq!(items.len(), all.len(), "{}", self.path);
        items.retain(|item| bad.contains(&self.id_of(item)));
        for item in &items {
            let mut item = item.clone();
            spoil(&mut item);
            world.write_item(self.container, &item).await;
        }
        let good: Vec<_> = all.iter().filter(|id| !bad.contains(id)).cloned().collect();
        for limit in [1, 2, 100] {
            let found = self.ids(world, limit).await;
            assert_eq!(found, good, "{} by {limit} without {bad:?}", self.path);
        }
        for item in items {
            world.write_item(self.container, &item).await;
        }
    }
}

fn ids_of(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

const PAGE_LIMIT: usize = 2;

/// Checks that a forged cursor is refused, or shows a part of the same list for the price of a page. A
/// cursor of another list is refused.
pub fn forged_cursors_are_refused<A: AppUnderTest>(
    runtime: &Runtime,
    world: &World<A>,
    lists: &[ListUnderTest],
) {
    let honest = runtime.block_on(async {
        let mut honest = Vec::new();
        for list in lists {
            honest.push(HonestReading::read(world, *list).await);
        }
        for one in &honest {
            for other in honest.iter().filter(|other| other.list.path != one.list.path) {
                let answer =
                    one.list.page(world, PAGE_LIMIT, other.cursors.first().map(String::as_str));
                let fields = refusal::<A>(one.list.path, &answer.await, (400, "validation"));
                assert_eq!(fields, ["cursor"], "{}", one.list.path);
            }
        }
        honest
    });
    // The indexes of a list, of one of its cursors, and of this cursor's values with the new values.
    let new_values = proptest::collection::vec((any::<Index>(), values()), 1..3);
    let forgeries = (any::<Index>(), any::<Index>(), new_values);
    let check = |(list, cursor, new_values): (Index, Index, Vec<(Index, Value)>)| {
        let HonestReading { list, ids, cursors, page } = list.get(&honest);
        let mut cursor = decoded(cursor.get::<String>(cursors));
        for (index, value) in new_values {
            let mut leaves = leaves(&mut cursor);
            let n = index.index(leaves.len());
            *leaves[n] = value;
        }
        let (answer, cost) = runtime.block_on(page_and_cost(world, *list, Some(&encoded(&cursor))));
        if answer.status != 200 {
            let fields = refusal::<A>(list.path, &answer, (400, "validation"));
            prop_assert_eq!(fields, ["cursor"]);
            prop_assert_eq!(cost.0, 0);
            return Ok(());
        }
        let found = ids_of(&answer.json());
        prop_assert!(found.len() <= PAGE_LIMIT);
        let is_part = found.is_empty() || ids.windows(found.len()).any(|part| part == found);
        prop_assert!(is_part, "{found:?} of {ids:?} by {cursor}");
        // An empty page may read its parent, too, and a list may read its layout now and then.
        let is_a_page = cost.0 <= page.0 + 1 && cost.1 <= page.1 + 2.0;
        prop_assert!(is_a_page, "{cost:?}, an honest page {page:?}");
        Ok(())
    };
    let cases = u32::try_from(20 * lists.len()).unwrap();
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    TestRunner::new(config).run(&forgeries, check).unwrap();
}

/// Returns the cursor with these values.
pub fn encoded(cursor: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(cursor.to_string())
}

fn decoded(cursor: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap()).unwrap()
}

fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(values) => values.iter_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

fn values() -> impl Strategy<Value = Value> {
    let days_ago = |days: u64| Timestamp::now().before(Duration::from_hours(24 * days));
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
        (0..40_u64).prop_map(move |days| days_ago(days).to_string()),
    ];
    prop_oneof![
        8 => texts.prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([])),
        1 => Just(json!(["0000-01-01T00:00:00.000Z", ["0000-01-01T00:00:00.000Z", "a"]])),
    ]
}

/// A list, as its own cursors lead through it.
struct HonestReading {
    list: ListUnderTest,
    ids: Vec<String>,
    cursors: Vec<String>,
    /// The most store requests and request units of a page.
    page: (usize, f64),
}

impl HonestReading {
    async fn read<A: AppUnderTest>(world: &World<A>, list: ListUnderTest) -> Self {
        let pages = list.pages(world, 1).await;
        let ids: Vec<String> = pages.iter().flat_map(ids_of).collect();
        assert!(ids.len() > 1, "{} needs more items for this check", list.path);
        let next = |page: &Value| page["nextCursor"].as_str().map(str::to_owned);
        let cursors: Vec<String> = pages.iter().filter_map(next).collect();
        let mut page = (0, 0.0);
        for cursor in [None].into_iter().chain(cursors.iter().map(|cursor| Some(&**cursor))) {
            let (_, cost) = page_and_cost(world, list, cursor).await;
            page = (cost.0.max(page.0), f64::max(cost.1, page.1));
        }
        Self { list, ids, cursors, page }
    }
}

async fn page_and_cost<A: AppUnderTest>(
    world: &World<A>,
    list: ListUnderTest,
    cursor: Option<&str>,
) -> (Answer, (usize, f64)) {
    let n_before = world.endpoint.request_count();
    let answer = list.page(world, PAGE_LIMIT, cursor).await;
    let requests = world.endpoint.request_count() - n_before;
    let units = answer.header("x-ms-request-charge").parse().unwrap_or(0.0);
    (answer, (requests, units))
}

/// Checks a list that takes `offset` and `limit`: pages of each size show the same items in the same order, each
/// once, and a page behind the last is empty. A bad offset or limit is refused without a store request.
///
/// `path` is that of the list up to the parameters of the page. `items` is the member of the answer that has the
/// items, and `id` the property that tells them apart.
pub async fn offsets_show_each_item_once<A: AppUnderTest>(
    world: &World<A>,
    path: &str,
    (items, id): (&str, &str),
) {
    let page = async |offset: usize, limit: usize| -> Vec<String> {
        let page = world.get(&format!("{path}offset={offset}&limit={limit}")).await.expect(200);
        let page = page.json()[items].as_array().unwrap().clone();
        page.iter().map(|item| item[id].as_str().unwrap().to_owned()).collect()
    };
    let all = page(0, 100).await;
    assert!(all.len() > 3, "{path} needs more items for this check");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{path}");
    for limit in [1, 2, 3] {
        let mut shown = Vec::new();
        for offset in (0..all.len()).step_by(limit) {
            let page = page(offset, limit).await;
            assert_eq!(page.len(), limit.min(all.len() - offset), "{path}: a page is not full");
            shown.extend(page);
        }
        assert_eq!(shown, all, "{path} by {limit}");
        assert!(page(all.len(), limit).await.is_empty(), "{path} goes on behind its end");
    }
    let n_before = world.endpoint.request_count();
    for bad in ["offset=-1", "offset=1001", "offset=", "limit=0", "limit=101"] {
        let answer = world.get(&format!("{path}{bad}")).await;
        let (name, _) = bad.split_once('=').unwrap();
        assert_eq!(refusal::<A>(path, &answer, (400, "validation")), [name], "{path}{bad}");
    }
    assert_eq!(world.endpoint.request_count(), n_before, "a bad page came to the store");
}
