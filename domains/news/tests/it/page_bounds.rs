//! A page of a list ends at its bounds for any window, and the next page continues the list.

use std::{collections::BTreeSet, time::Instant};

use serde_json::{Value, json};

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

const PROVIDERS: usize = 20;
const ITEMS: usize = 12;
/// Six years.
const WINDOW: f64 = 6.0 * 365.0;

/// A page as a client sees it.
struct Page {
    items: Vec<Value>,
    next: Option<String>,
    partitions: usize,
    units: f64,
}

async fn page(room: &Newsroom, path: &str, cursor: Option<&str>) -> Page {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let answer = room.world.get(&format!("{path}{cursor}")).await.expect(200);
    let list = answer.json();
    Page {
        items: list["items"].as_array().unwrap().clone(),
        next: list["nextCursor"].as_str().map(str::to_owned),
        partitions: answer.header("x-partitions-queried").parse().unwrap(),
        units: answer.header("x-ms-request-charge").parse().unwrap_or(0.0),
    }
}

/// All pages of a list, which must end.
async fn pages(room: &Newsroom, path: &str) -> Vec<Page> {
    let mut pages = vec![page(room, path, None).await];
    while let Some(next) = pages.last().unwrap().next.clone() {
        pages.push(page(room, path, Some(&next)).await);
        assert!(pages.len() < 2_000, "{path} does not end");
    }
    pages
}

/// Twenty providers with an item every half year, of which the newest is a day old.
async fn years(settings: &[(&str, &str)]) -> Newsroom {
    let mut settings = settings.to_vec();
    // The archive is not listed.
    settings.push(("News__ArchiveAfterYears", "9"));
    let room = Newsroom::with(World::new().await, &settings).await;
    for provider in 0..PROVIDERS {
        let item = |n: u32| {
            let days = f64::from(n) * 180.0 + 1.0;
            room.item(&format!("p{provider}"), &format!("{provider}-{n}"), days)
        };
        let items: Vec<_> = (0..u32::try_from(ITEMS).unwrap()).map(item).collect();
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    }
    room
}

#[tokio::test]
async fn a_window_of_years_is_read_in_pages_within_their_bounds_with_each_item_once() {
    const PARTITIONS: usize = 8;
    const UNITS: f64 = 60.0;
    let bounds = [("News__PagePartitions", "8"), ("News__PageRequestUnits", "60")];
    for strategy in [HYBRID, MONTHLY] {
        let settings: Vec<_> = strategy.iter().chain(&bounds).copied().collect();
        let room = years(&settings).await;
        let window = format!("/api/news/items?from={}&limit=20", room.days_ago(WINDOW));
        let of_provider = |n: usize| (format!("{window}&provider=p{n}"), ITEMS);
        let lists = (0..PROVIDERS).map(of_provider);
        for (path, expected) in lists.chain([(window.clone(), PROVIDERS * ITEMS)]) {
            let pages = pages(&room, &path).await;
            for page in &pages {
                // One read more may be under way: of the parts of one time.
                assert!(page.partitions <= PARTITIONS + 3, "{path}: {}", page.partitions);
                assert!(page.units <= UNITS + 40.0, "{path}: {}", page.units);
            }
            let items: Vec<&Value> = pages.iter().flat_map(|page| &page.items).collect();
            let dates = |item: &&Value| item["publishedDate"].as_str().unwrap().to_owned();
            assert!(items.is_sorted_by(|a, b| dates(a) >= dates(b)), "{path}");
            let ids: BTreeSet<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!((items.len(), ids.len()), (expected, expected), "{path}");
        }
    }
}

#[tokio::test]
async fn a_window_from_the_year_0_costs_no_more_than_the_bounds_of_a_page() {
    for settings in [HYBRID, MONTHLY] {
        let room = years(settings).await;
        for list in ["items?", "items?provider=p1&", "search?q=title&", "search?q=nowhere&"] {
            let path = format!("/api/news/{list}limit=100&from=0000-01-01");
            let mut cursor = None;
            for _ in 0..3 {
                let begun = Instant::now();
                let page = page(&room, &path, cursor.as_deref()).await;
                assert!(page.partitions <= 53, "{path}: {}", page.partitions);
                assert!(page.units <= 700.0, "{path}: {}", page.units);
                assert!(begun.elapsed().as_secs() <= 10);
                cursor = page.next;
            }
        }
    }
}

#[tokio::test]
async fn a_search_that_finds_nothing_ends_each_page_at_its_bounds_and_then_ends() {
    const UNITS: f64 = 20.0;
    let settings = [("News__PageRequestUnits", "20")];
    let room = Newsroom::with(World::with_partitions(2).await, &settings).await;
    let item = |n: u32| room.item("gazette", &format!("{n}."), f64::from(n) / 25.0);
    let items: Vec<_> = (0..500).map(item).collect();
    room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    for provider in ["", "&provider=gazette"] {
        let path = format!("/api/news/search?q=nowhere&days=90{provider}");
        let pages = pages(&room, &path).await;
        let units: Vec<f64> = pages.iter().map(|page| page.units).collect();
        assert!((3..60).contains(&pages.len()), "{units:?}");
        for page in &pages {
            assert!(page.items.is_empty());
            // One read may be under way.
            assert!(page.units <= UNITS + 60.0, "{units:?}");
        }
        let path = format!("/api/news/search?q=of%20499.&days=90{provider}");
        let found: usize =
            self::pages(&room, &path).await.iter().map(|page| page.items.len()).sum();
        assert_eq!(found, 1, "the last candidate is found");
    }
}

#[tokio::test]
async fn a_search_that_finds_everything_reads_little_more_than_its_page() {
    let room = Newsroom::new().await;
    let of = |n: u32, title: &str| {
        let mut item = room.item("reuters", &n.to_string(), f64::from(n) / 100.0);
        (item["title"], item["content"]) = (json!(title), json!("c".repeat(60_000)));
        item
    };
    // Forty of the items do not match the search.
    let titles = (0..150).map(|n| of(n, if n < 40 { "Other" } else { "Sought" }));
    let items: Vec<_> = titles.collect();
    for items in items.chunks(50) {
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    }
    let requests_before = room.world.endpoint.request_count();
    let path = "/api/news/search?q=sought&provider=reuters&limit=5";
    let found = page(&room, path, None).await;
    assert_eq!(found.items.len(), 5);
    // A page of the store has 4 MB: 66 of these items. One read may have as much too much.
    let requests = room.world.endpoint.requests_since(requests_before);
    let queries = requests.iter().filter(|one| one.query.is_some()).count();
    assert!(queries <= 4, "{queries}");
}
