//! Lists and searches.

use std::{collections::BTreeSet, time::Instant};

use serde_json::{Value, json};

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

#[tokio::test]
async fn a_window_has_its_items_newest_first_in_full_pages() {
    for settings in [HYBRID, MONTHLY] {
        let room = Newsroom::with(World::new().await, settings).await;
        for (n, provider) in (0..12_u32).zip(["reuters", "gazette", "herald"].iter().cycle()) {
            room.post(provider, &format!("{n}"), f64::from(n) * 6.0).await.expect(201);
        }
        let all: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(room.urls("days=92").await, all);
        assert_eq!(room.urls("days=7").await, all[..2]);
        assert_eq!(room.urls("days=92&provider=gazette").await, ["1", "4", "7", "10"]);
        let window = format!("from={}&to={}", room.days_ago(42.5), room.days_ago(17.5));
        assert_eq!(room.urls(&window).await, all[3..8]);
        assert_eq!(room.urls("days=92&provider=nobody").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_window_includes_its_beginning_and_not_its_end() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 3.0).await.expect(201).json();
    let date = item["publishedDate"].as_str().unwrap();
    assert_eq!(room.urls(&format!("from={date}")).await, ["a"]);
    assert_eq!(room.urls(&format!("to={date}")).await, [""; 0]);
    let day = &date[..10];
    assert_eq!(room.urls(&format!("from={day}")).await, ["a"]);
}

#[tokio::test]
async fn a_list_without_a_window_has_seven_days_and_a_search_thirty() {
    let room = Newsroom::new().await;
    let titled = async || room.found("q=title", 3).await.len();
    for (days, listed, found) in [(6.99, 1, 1), (7.01, 1, 2), (29.99, 1, 3), (30.01, 1, 3)] {
        room.post("reuters", &format!("{days}"), days).await.expect(201);
        assert_eq!((room.urls("").await.len(), titled().await), (listed, found), "after {days}");
    }
    // A window that has an end alone is as long.
    let week = format!("to={}", room.days_ago(25.0));
    assert_eq!(room.urls(&week).await, ["29.99", "30.01"]);
    assert_eq!(room.urls(&format!("to={}", room.days_ago(23.0))).await, ["29.99"]);
}

/// The SDK refuses a query of more than 100 by itself.
#[tokio::test]
async fn a_list_asks_more_than_a_hundred_physical_partitions() {
    let room = Newsroom::with(World::with_partitions(101).await, HYBRID).await;
    for provider in ["reuters", "gazette", "herald"] {
        room.post(provider, provider, 1.0).await.expect(201);
    }
    assert_eq!(room.urls("days=7").await.len(), 3);
}

#[tokio::test]
async fn an_answer_names_the_containers_and_partitions_read() {
    let room = Newsroom::new().await;
    for days in [1.0, 40.0] {
        room.post("reuters", &format!("{days}"), days).await.expect(201);
    }
    let asked = async |query: &str| {
        let answer = room.world.get(&format!("/api/news/items?{query}")).await.expect(200);
        let header = |name| answer.header(name).to_owned();
        (header("x-containers-queried"), header("x-partitions-queried").parse::<u32>().unwrap())
    };
    assert_eq!(asked("").await, ("hot".into(), 1));
    let (containers, partitions) = asked("provider=reuters&days=30").await;
    assert_eq!(containers, "hot");
    assert!((1..=3).contains(&partitions), "{partitions}");
    assert_eq!(asked("days=60").await, ("hot, warm".into(), 2));
    room.migrate().await;
    // A day later, and another instance: this one remembers for a minute that nothing was migrated.
    room.days_pass_without_expiry(1);
    let room = room.with_settings(HYBRID).await;
    let window = format!("/api/news/items?from={}&to={}", room.days_ago(60.0), room.days_ago(35.0));
    let answer = room.world.get(&window).await.expect(200);
    assert_eq!(answer.header("x-containers-queried"), "warm");
    let answer = room.world.get("/api/news/items?provider=nobody").await.expect(200);
    assert_eq!(answer.header("x-containers-queried"), "none");
}

#[tokio::test]
async fn a_bad_window_is_refused() {
    let room = Newsroom::new().await;
    for bad in [
        "days=0",
        "days=36501",
        "days=99999999999",
        "days=x",
        "from=yesterday",
        "from=2026-11-02&to=2026-11-01",
        "from=2026-11-01&to=2026-11-01",
        "from=-1",
        "to=10000-01-01",
        "days=3&to=2026-11-01",
        "provider=a%20b",
        "limit=0",
        "cursor=x",
    ] {
        room.world.get(&format!("/api/news/items?{bad}")).await.expect(400);
    }
    room.world.get("/api/news/items?from=2026-11-01&to=2027-02-01").await.expect(200);
    room.world
        .get("/api/news/items?from=2026-11-01T00:00:00%2B01:00&to=2027-01-01")
        .await
        .expect(200);
}

#[tokio::test]
async fn a_text_is_found_in_title_content_and_tags_in_any_case() {
    for settings in [HYBRID, MONTHLY] {
        let room = Newsroom::with(World::new().await, settings).await;
        for (n, (title, content, tag)) in (0_u32..).zip([
            ("The Economy", "x", "x"),
            ("x", "an ECONOMY", "x"),
            ("x", "x", "economy"),
            ("x", "x", "x"),
        ]) {
            let mut body = room.item("reuters", &format!("{n}"), f64::from(n) * 12.0);
            (body["title"], body["content"], body["tags"]) =
                (json!(title), json!(content), json!(["first", tag]));
            room.world.post("/api/news/items", body).await.expect(201);
        }
        let found = async |query: &str| {
            let answer =
                room.world.get(&format!("/api/news/search?{query}")).await.expect(200).json();
            answer["items"].as_array().unwrap().len()
        };
        assert_eq!(found("q=economy").await, 3);
        assert_eq!(found("q=eCoNo&provider=reuters").await, 3);
        assert_eq!(found("q=economy&provider=gazette").await, 0);
        assert_eq!(found("q=first").await, 3);
        assert_eq!(found(&format!("q=first&from={}", room.days_ago(50.0))).await, 4);
        // No text reaches from one tag into the next.
        assert_eq!(found("q=firsteconomy").await, 0);
    }
}

const PROVIDERS: usize = 6;
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

/// Some providers with an item every half year, of which the newest is a day old.
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
        room.batch(&items).await;
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
        let lists = (0..2).map(of_provider);
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
async fn a_missing_item_is_not_found_and_a_bad_key_is_refused() {
    let room = Newsroom::new().await;
    let id = "00000000-0000-5000-8000-000000000000";
    room.world.get(&format!("/api/news/items/reuters_2026-11/{id}")).await.expect(404);
    room.world.get(&format!("/api/news/items/2026-11/{id}")).await.expect(404);
    for bad in ["reuters", "reuters_2026-13", "a%20b_2026-11", "reuters_2026-11_1", "~", "2026-Q4"]
    {
        room.world.get(&format!("/api/news/items/{bad}/{id}")).await.expect(400);
    }
}
