//! Events in the middle of a migration, a move or a post.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Create, Replace};

use super::given::Newsroom;
use tributary_testing::interleavings::{amid, held};

use crate::world::World;

/// Posts an item again, under another title, published when it was.
async fn retitle(room: &Newsroom, item: &Value, title: &str) {
    let url = item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap();
    let mut body = room.item(item["feedProviderId"].as_str().unwrap(), url, 0.0);
    (body["publishedDate"], body["title"]) = (item["publishedDate"].clone(), json!(title));
    room.world.post("/api/news/items", body).await.expect(200);
}

#[tokio::test]
async fn an_edit_during_a_move_to_a_colder_container_is_kept() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    let item = room.post("reuters", "a", 20.0).await.expect(201).json();
    room.days_pass(11).await;
    amid((&room.world, Replace, "feeds_current"), room.migrate(), async {
        retitle(&other, &item, "Corrected").await;
        let listed = other.items("days=60", 3).await;
        assert_eq!((listed.len(), &listed[0]["title"]), (1, &json!("Corrected")));
    })
    .await;
    room.migrate().await;
    room.days_pass(2).await;
    assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
    assert_eq!(room.urls("days=60").await, ["a"]);
}

#[tokio::test]
async fn an_edit_of_an_item_that_is_being_copied_is_kept() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    let item = room.post("reuters", "a", 20.0).await.expect(201).json();
    room.days_pass(11).await;
    // The run has read the item by then.
    amid((&room.world, Create, "feeds_historical"), room.migrate(), async {
        retitle(&other, &item, "Corrected").await;
    })
    .await;
    room.migrate().await;
    room.days_pass(2).await;
    assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
}

#[tokio::test]
async fn a_search_does_not_find_an_older_text_of_an_item_in_two_containers() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    let item = room.post("reuters", "a", 20.0).await.expect(201).json();
    room.days_pass(11).await;
    // This instance remembers for a minute that nothing is migrated, and so asks both containers.
    assert_eq!(room.found("q=Title&days=60", 3).await.len(), 1);
    amid((&room.world, Replace, "feeds_current"), room.migrate(), async {
        // The warm container has the first text.
        retitle(&other, &item, "Corrected").await;
        assert!(room.found("q=Title&days=60", 3).await.is_empty());
        assert_eq!(room.found("q=Corrected&days=60", 3).await.len(), 1);
    })
    .await;
    room.migrate().await;
    // The hot container has the second text, for a day.
    retitle(&other, &item, "Final").await;
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
    retitle(&room, &item, "Corrected").await;
    // The copy in the warm container expires within a day.
    assert_eq!(room.items(&window, 3).await, [json!(null); 0]);
    assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
}

#[tokio::test]
async fn a_higher_age_of_the_migration_hides_neither_old_items_nor_new_ones() {
    let room = Newsroom::with(World::new().await, &[("News__MigrateAfterDays", "5")]).await;
    room.post("reuters", "a", 4.0).await.expect(201);
    room.days_pass(3).await;
    room.migrate().await;
    // The carried copy in the hot container is gone.
    room.days_pass(2).await;
    let raised = room.with_settings(&[("News__MigrateAfterDays", "30")]).await;
    assert_eq!(raised.urls("days=20").await, ["a"]);
    // The item was published before the progress of the migration, and goes to the warm container.
    raised.post("reuters", "b", 8.0).await.expect(201);
    assert_eq!(raised.live_in("feeds_historical").await, 2);
    for filter in ["", "&provider=reuters"] {
        assert_eq!(raised.urls(&format!("days=20{filter}")).await, ["b", "a"]);
    }
}

#[tokio::test]
async fn a_copy_that_is_late_does_not_bring_an_item_back_to_where_it_was() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    room.post("reuters", "a", 20.0).await.expect(201);
    room.days_pass(11).await;
    amid((&room.world, Create, "feeds_historical"), room.migrate(), async {
        other.migrate().await;
        other.post("reuters", "a", 100.0).await.expect(200);
    })
    .await;
    assert_eq!((room.live().await, room.urls("days=60").await), (1, vec![]));
    let window = format!("from={}&to={}", room.days_ago(101.0), room.days_ago(99.0));
    assert_eq!(room.urls(&window).await, ["a"]);
}

#[tokio::test]
async fn a_move_that_was_cut_off_shows_the_item_once_and_the_migration_ends_it() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 1.0).await.expect(201);
    // The item stands in its new place by then.
    let moving = held((&room.world, Replace, "feeds_locations"), room.post("reuters", "a", 60.0));
    drop(moving.await);
    assert_eq!(room.urls("days=90").await, ["a"]);
    assert_eq!(room.urls("days=7").await, [""; 0]);
    room.migrate().await;
    assert_eq!((room.live().await, room.urls("days=90").await), (1, vec!["a".to_owned()]));
    // A post finds it in its new place.
    room.post("reuters", "a", 2.0).await.expect(200);
    assert_eq!((room.live().await, room.urls("days=90").await), (1, vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_move_that_was_cut_off_at_its_end_does_not_bring_the_item_back_when_it_has_moved_on() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 85.0).await.expect(201);
    // A page leaves out an item that it has met before. So another stands between.
    room.post("reuters", "between", 20.0).await.expect(201);
    // The location names the new place by then; the old one has no tombstone yet.
    let (hold, moving) =
        held((&room.world, Replace, "feeds_locations"), room.post("reuters", "a", 45.0)).await;
    let moving = async {
        hold.release();
        moving.await
    };
    drop(held((&room.world, Replace, "feeds_historical"), moving).await);
    room.post("reuters", "a", 2.0).await.expect(200);
    assert_eq!(room.urls_by("days=90", 1).await, ["a", "between"]);
    room.migrate().await;
    room.archive().await;
    assert_eq!(room.live().await, 2);
    assert_eq!(room.urls_by("days=90", 1).await, ["a", "between"]);
    assert_eq!(room.urls("days=7").await, ["a"]);
}

#[tokio::test]
async fn two_first_posts_with_different_dates_are_one_item() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    let late =
        amid((&room.world, Create, "feeds_current"), room.post("reuters", "a", 1.0), async {
            other.post("reuters", "a", 100.0).await.expect(201);
        });
    assert!(late.await.status.is_success());
    assert_eq!((room.live().await, room.urls("days=7").await), (1, vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_date_that_changes_within_its_partition_after_the_migration_leaves_no_second_copy() {
    let room = Newsroom::new().await;
    room.at_one_time();
    let item = room.post("gazette", "a", 20.0).await.expect(201).json();
    // A page reads one item more, and leaves out an item that it has met: so another stands between.
    room.post("gazette", "between", 20.1).await.expect(201);
    room.days_pass(11).await;
    // This instance remembers for a minute that nothing is migrated, and so asks both containers.
    assert_eq!(room.urls("days=60").await, ["a", "between"]);
    room.migrate().await;
    let again = room.post("gazette", "a", 31.2).await.expect(200).json();
    assert_eq!(again["partitionKey"], item["partitionKey"]);
    assert_eq!(room.urls_by("days=60", 1).await, ["between", "a"]);
}

#[tokio::test]
async fn a_date_that_changes_while_the_item_is_brought_over_leaves_no_second_copy() {
    let room = Newsroom::new().await;
    let other = room.with_settings(super::given::HYBRID).await;
    room.at_one_time();
    let item = room.post("gazette", "a", 20.0).await.expect(201).json();
    room.post("gazette", "between", 17.0).await.expect(201);
    room.days_pass(11).await;
    amid((&room.world, Replace, "feeds_current"), room.migrate(), async {
        let again = other.post("gazette", "a", 25.0).await.expect(200).json();
        assert_eq!(again["partitionKey"], item["partitionKey"]);
        assert_eq!(other.urls_by("days=60", 1).await, ["a", "between"]);
    })
    .await;
    assert_eq!(room.urls_by("days=60", 1).await, ["a", "between"]);
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
