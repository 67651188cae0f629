//! Moves of items.

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Replace},
};
use tributary_testing::interleavings::{amid, held};

use super::given::{HYBRID, Newsroom};
use crate::world::World;

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

/// The move comes from the archive to the hot container. Under other ages the item goes on to the warm
/// one, and its copy in the hot container goes away.
#[tokio::test]
async fn a_late_worker_does_not_double_an_item_that_was_brought_on_from_its_new_place() {
    let room = Newsroom::new().await;
    room.at_one_time();
    room.post("herald", "a", 900.0).await.expect(201);
    let hot = room.with_settings(&[HYBRID[0], ("News__MigrateAfterDays", "3650")]).await;
    drop(held((&room.world, Replace, "feeds_locations"), hot.post("herald", "a", 899.9)).await);
    let warm = room.with_settings(&[HYBRID[0], ("News__ArchiveAfterYears", "100")]).await;
    warm.post("herald", "a", 899.8).await.expect(200);
    assert_eq!((room.live().await, room.live_in("feeds_historical").await), (1, 1));
    warm.migrate().await;
    assert_eq!((room.live().await, room.live_in("feeds_historical").await), (1, 1));
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

const FULL: Fault = Fault::RefusedWith(403, 1014);
/// More faults than any story meets.
const ENDLESS: usize = 10_000;

pub(crate) async fn retitle(room: &Newsroom, item: &Value, title: &str) -> u16 {
    let url = item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap();
    let mut body = room.item(item["feedProviderId"].as_str().unwrap(), url, 0.0);
    (body["publishedDate"], body["title"]) = (item["publishedDate"].clone(), json!(title));
    room.world.post("/api/news/items", body).await.status.as_u16()
}

/// The item is where it was, once, and can be edited.
async fn has_stayed(room: &Newsroom, item: &Value) {
    assert_eq!(room.read(item).await.expect(200).json()["publishedDate"], item["publishedDate"]);
    assert_eq!(retitle(room, item, "Corrected").await, 200);
    assert_eq!(room.read(item).await.expect(200).json()["title"], "Corrected");
    assert_eq!(room.urls("days=90").await, ["a"]);
    assert_eq!(room.migrate().await["failed"], 0);
}

#[tokio::test]
async fn a_move_to_a_full_partition_is_refused_and_leaves_the_item_as_it_was() {
    for kind in [Create, Replace] {
        let room = Newsroom::new().await;
        let item = room.post("reuters", "a", 1.0).await.expect(201).json();
        room.world.endpoint.inject(FULL, kind, "feeds_historical", ENDLESS);
        room.post("reuters", "a", 60.0).await.expect(507);
        has_stayed(&room, &item).await;
    }
}

/// There the place keeps a late copy out, and stays taken for a day.
#[tokio::test]
async fn a_refused_move_to_a_former_place_is_taken_back_within_a_day() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 60.0).await.expect(201);
    let item = room.post("reuters", "a", 1.0).await.expect(200).json();
    room.world.endpoint.inject(FULL, Replace, "feeds_historical", ENDLESS);
    room.post("reuters", "a", 60.0).await.expect(507);
    assert_eq!(room.read(&item).await.expect(200).json()["title"], item["title"]);
    room.days_pass(2).await;
    has_stayed(&room, &item).await;
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
    let other = room.with_settings(HYBRID).await;
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
    let other = room.with_settings(HYBRID).await;
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
    let other = room.with_settings(HYBRID).await;
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
