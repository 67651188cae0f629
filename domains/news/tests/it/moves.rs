//! Moves of items.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Create, Replace};
use tributary_testing::interleavings::{amid, held};

use super::given::{HYBRID, Newsroom};

#[tokio::test]
async fn a_move_that_is_ended_when_the_migration_has_passed_its_date_is_listed() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 75.0).await.expect(201);
    // Cut off before the item arrives in the hot container.
    drop(held((&room.world, Replace, "feeds_current"), room.post("reuters", "a", 29.9)).await);
    room.hours_pass(6).await;
    room.migrate().await;
    // Readers believe the progress an hour later.
    room.hours_pass(3).await;
    room.archive().await;
    let window = format!("from={}&to={}", room.days_ago(31.0), room.days_ago(30.2));
    for instance in [room.with_settings(HYBRID).await, room.clone()] {
        let old = instance.urls("days=90").await;
        assert_eq!(old, ["a"]);
        let moved = instance.urls(&window).await;
        let stayed = format!("from={}&to={}", room.days_ago(76.0), room.days_ago(75.2));
        assert_eq!(moved.len() + instance.urls(&stayed).await.len(), 1, "{moved:?}");
    }
}

#[tokio::test]
async fn an_item_is_not_brought_on_while_its_move_cannot_end() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 75.0).await.expect(201).json();
    drop(held((&room.world, Replace, "feeds_locations"), room.post("reuters", "a", 29.9)).await);
    let location = room.stored("feeds_locations", &item["id"]).await;
    let mut unreadable = location.clone();
    unreadable["place"] = json!(5);
    room.put("feeds_locations", &unreadable).await;
    room.days_pass(1).await;
    assert_eq!(room.migrate().await["failed"], 2);
    room.days_pass(2).await;
    room.put("feeds_locations", &location).await;
    assert_eq!(room.migrate().await["failed"], 0);
    assert_eq!((room.live().await, room.urls("days=90").await), (1, vec!["a".to_owned()]));
}

#[tokio::test]
async fn items_go_to_the_containers_that_readers_read_after_the_age_is_raised() {
    let room = Newsroom::new().await;
    room.post("reuters", "first", 45.0).await.expect(201);
    room.migrate().await;
    room.hours_pass(3).await;
    let raised = [HYBRID[0], ("News__MigrateAfterDays", "60")];
    let later = room.with_settings(&raised).await;
    later.post("reuters", "second", 44.0).await.expect(201);
    later.post("reuters", "third", 5.0).await.expect(201);
    let live = room.hot_and_warm().await;
    assert_eq!(live, (1, 2));
    // Items that an instance with the former age has written before the progress are migrated, too.
    let mut hot = room.stored("feeds_current", &room.items("days=7", 3).await[0]["id"]).await;
    (hot["publishedDate"], hot["partitionKey"]) =
        (json!(room.days_ago(40.0)), json!(format!("reuters_{}", &room.days_ago(40.0)[..7])));
    room.put("feeds_current", &hot).await;
    assert_eq!(later.migrate().await["migrated"], 1);
}

#[tokio::test]
async fn the_items_between_two_ages_are_migrated_after_the_age_is_lowered() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 20.0).await.expect(201);
    room.migrate().await;
    let lowered = [HYBRID[0], ("News__MigrateAfterDays", "10")];
    let later = room.with_settings(&lowered).await;
    assert_eq!(later.migrate().await["migrated"], 1);
    assert_eq!(later.urls("days=30").await, ["a"]);
}

async fn retitle(room: &Newsroom, item: &Value, title: &str) -> u16 {
    let url = item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap();
    let mut body = room.item(item["feedProviderId"].as_str().unwrap(), url, 0.0);
    (body["publishedDate"], body["title"]) = (item["publishedDate"].clone(), json!(title));
    room.world.post("/api/news/items", body).await.status.as_u16()
}

#[tokio::test]
async fn an_edit_during_a_move_to_a_colder_container_is_kept() {
    // The run has read the item by then, and with the second request has copied it.
    for held in [(Create, "feeds_historical"), (Replace, "feeds_current")] {
        let room = Newsroom::new().await;
        let other = room.with_settings(HYBRID).await;
        let item = room.post("reuters", "a", 20.0).await.expect(201).json();
        room.days_pass(11).await;
        amid((&room.world, held.0, held.1), room.migrate(), async {
            assert_eq!(retitle(&other, &item, "Corrected").await, 200);
            let listed = other.items("days=60", 3).await;
            assert_eq!((listed.len(), &listed[0]["title"]), (1, &json!("Corrected")));
        })
        .await;
        room.migrate().await;
        room.days_pass(2).await;
        assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
        assert_eq!(room.urls("days=60").await, ["a"]);
    }
}

#[tokio::test]
async fn a_search_does_not_find_an_older_text_of_an_item_in_two_containers() {
    let room = Newsroom::new().await;
    let other = room.with_settings(HYBRID).await;
    let item = room.post("reuters", "a", 20.0).await.expect(201).json();
    room.days_pass(11).await;
    // This instance remembers for a minute that nothing is migrated, and so asks both containers.
    assert_eq!(room.found("q=Title&days=60", 3).await.len(), 1);
    amid((&room.world, Replace, "feeds_current"), room.migrate(), async {
        // The warm container has the first text.
        assert_eq!(retitle(&other, &item, "Corrected").await, 200);
        assert!(room.found("q=Title&days=60", 3).await.is_empty());
        assert_eq!(room.found("q=Corrected&days=60", 3).await.len(), 1);
    })
    .await;
    room.migrate().await;
    // The hot container has the second text, for a day.
    assert_eq!(retitle(&other, &item, "Final").await, 200);
    for (text, n) in [("Title", 0), ("Corrected", 0), ("Final", 1)] {
        for filter in ["", "&provider=reuters"] {
            let query = format!("q={text}&days=60{filter}");
            assert_eq!(room.found(&query, 3).await.len(), n, "{query}");
        }
    }
}

#[tokio::test]
async fn an_archived_item_is_not_listed_in_a_former_state() {
    let room = Newsroom::new().await;
    let item = room.post("gazette", "a", 95.0).await.expect(201).json();
    room.days_pass(731).await;
    let window = format!("from={}&to={}", room.days_ago(900.0), room.days_ago(700.0));
    assert_eq!(room.urls(&window).await, ["a"]);
    assert_eq!(room.archive().await["archived"], 1);
    assert_eq!(retitle(&room, &item, "Corrected").await, 200);
    // The copy in the warm container expires within a day.
    assert_eq!(room.items(&window, 3).await, [json!(null); 0]);
    assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
}

#[tokio::test]
async fn a_cursor_holds_across_a_migration() {
    let room = Newsroom::new().await;
    for n in 0..6 {
        room.post("reuters", &n.to_string(), 25.0 + f64::from(n) / 10.0).await.expect(201);
    }
    room.days_pass(11).await;
    let page = room.world.get("/api/news/items?days=60&limit=2").await.expect(200).json();
    room.migrate().await;
    room.days_pass(2).await;
    let cursor = page["nextCursor"].as_str().unwrap();
    let path = format!("/api/news/items?days=60&limit=4&cursor={cursor}");
    let rest = room.world.get(&path).await.expect(200).json();
    let mut ids: Vec<&str> = [&page, &rest]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}
