//! Posts of items.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_functions::cosmos::Limits;
use tributary_local::cosmos::RequestKind::{Batch, Replace};
use tributary_testing::interleavings::held;

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

#[tokio::test]
async fn a_new_item_is_created_in_the_partition_of_its_provider_and_time() {
    let room = Newsroom::new().await;
    let mut body = room.item("reuters", "a", 0.0);
    body["publishedDate"] = json!("2026-11-05T10:00:00.5+01:00");
    body["metadata"] = json!({"rawData": {"a": [1, 2.5]}});
    let answer = room.world.post("/api/news/items", body).await.expect(201);
    let item = answer.json();
    let expected = json!({"id": "c3aca635-5d83-5674-b98d-92704eb1973b", "partitionKey": "reuters_2026-11",
        "feedProviderId": "reuters", "sourceUrl": "https://reuters.example.com/a", "title": "Title of a",
        "content": "Content of a", "tags": ["world"], "publishedDate": "2026-11-05T09:00:00.500Z",
        "crawledDate": item["crawledDate"], "metadata": {"rawData": {"a": [1, 2.5]}}});
    assert_eq!(item, expected);
    let location = format!("/api/news/items/reuters_2026-11/{}", item["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), location);
    assert_eq!(room.world.get(&location).await.expect(200).json(), item);

    let mut body = room.item("gazette", "a", 0.0);
    body["publishedDate"] = json!("2026-11-05T10:00:00Z");
    let item = room.world.post("/api/news/items", body.clone()).await.expect(201).json();
    assert_eq!(item["partitionKey"], "gazette_2026-Q4");
    assert_eq!(item["metadata"], json!({}));

    let monthly = Newsroom::with(World::new().await, MONTHLY).await;
    let item = monthly.world.post("/api/news/items", body).await.expect(201).json();
    assert_eq!(item["partitionKey"], "2026-11");
}

#[tokio::test]
async fn an_address_in_another_spelling_is_that_of_the_same_item() {
    let room = Newsroom::new().await;
    let first = room.post("reuters", "a", 1.0).await.expect(201).json();
    let mut body = room.item("reuters", "a", 1.0);
    for same in ["HTTPS://Reuters.Example.com:443/a", "https://reuters.example.com/x/../%61"] {
        body["sourceUrl"] = json!(same);
        let again = room.world.post("/api/news/items", body.clone()).await.expect(200).json();
        assert_eq!((&again["id"], &again["sourceUrl"]), (&first["id"], &body["sourceUrl"]));
    }
    let lax = json!({"sourceUrl": "https:///reuters.example.com\\a"});
    room.world.change_item("feeds_current", first["id"].as_str().unwrap(), &lax).await;
    let earlier = room.read(&first).await.expect(200).json();
    assert_eq!(earlier["sourceUrl"], lax["sourceUrl"], "an item of an earlier release is there");
}

#[tokio::test]
async fn an_item_that_comes_late_goes_straight_to_the_container_of_its_age() {
    let room = Newsroom::new().await;
    for (url, days, container, read) in [
        ("new", 29.0, "feeds_current", "hot"),
        ("old", 40.0, "feeds_historical", "hot, warm"),
        ("oldest", 900.0, "feeds_archive", "hot, warm, archive"),
    ] {
        let item = room.post("reuters", url, days).await.expect(201).json();
        let items = room.world.items(container).await;
        assert!(items.iter().any(|stored| stored["id"] == item["id"]), "{container}");
        let answer = room.read(&item).await.expect(200);
        assert_eq!((answer.header("x-containers-queried"), answer.json()), (read, item));
    }
}

#[tokio::test]
async fn a_changed_date_moves_an_item_from_any_container() {
    let room = Newsroom::new().await;
    let mut id = None;
    // The item moves to and fro between months and containers, to the archive and back.
    for days in [1.0, 45.0, 800.0, 2.0, 33.0, 100.0, 0.5, 1_200.0, 60.0, 0.0] {
        let body = room.item("reuters", "a", days);
        let item = room.world.post("/api/news/items", body.clone()).await.json();
        assert_eq!(item["publishedDate"], body["publishedDate"]);
        assert_eq!(&item["id"], id.get_or_insert_with(|| item["id"].clone()));
        assert_eq!(room.read(&item).await.expect(200).json(), item);
        assert_eq!(room.live().await, 1, "after {days}");
        let query = format!("from={}&to={}", room.days_ago(days + 5.0), room.days_ago(days - 5.0));
        let wanted: &[&str] = if days >= 800.0 { &[] } else { &["a"] };
        assert_eq!(room.urls(&query).await, wanted, "after {days}");
    }
}

fn statuses(body: &Value) -> Vec<&Value> {
    body["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect()
}

#[tokio::test]
async fn each_item_of_a_batch_has_a_status_of_its_own() {
    let room = Newsroom::new().await;
    room.post("reuters", "known", 1.0).await.expect(201);
    let items = vec![
        room.item("reuters", "a", 1.0),
        json!({"feedProviderId": "reuters"}),
        room.item("reuters", "known", 1.0),
        room.item("gazette", "b", 50.0),
        json!(5),
        room.item("reuters", "a", 1.0),
    ];
    let answer = room.world.post("/api/news/items/batch", json!({"items": items})).await;
    let body = answer.json();
    let statuses = statuses(&body);
    assert_eq!(statuses, [201, 400, 200, 201, 400, 200]);
    assert_eq!((&body["succeeded"], &body["failed"]), (&json!(4), &json!(2)));
    assert_eq!(body["items"][1]["errors"][0]["field"], "title");
    assert!(answer.header("x-ms-request-charge").parse::<f64>().unwrap() > 0.0);
    for index in [0, 2, 3] {
        room.read(&body["items"][index]).await.expect(200);
    }
    let mut urls = room.urls("days=60").await;
    urls.sort();
    assert_eq!(urls, ["a", "b", "known"]);
}

#[tokio::test]
async fn a_batch_has_at_most_four_mebibytes() {
    let room = Newsroom::new().await;
    let batch = async |items: Value| {
        room.world.post("/api/news/items/batch", json!({"items": items})).await
    };
    batch(json!({})).await.expect(400);
    let item = |n: usize| {
        let mut item = room.item("reuters", &format!("{n}"), 1.0);
        item["content"] = json!("a".repeat(60_000));
        item
    };
    let many: Vec<Value> = (0..68).map(item).collect();
    let answer = batch(json!(many)).await.expect(200).json();
    assert_eq!(answer["succeeded"], 68);
    let too_many: Vec<Value> = (0..70).map(item).collect();
    batch(json!(too_many)).await.expect(413);
}

#[tokio::test]
async fn a_batch_ends_by_its_deadline_though_the_store_does_not_answer() {
    let room = Newsroom::new().await;
    let items: Vec<Value> = (0..3).map(|n| room.item("reuters", &n.to_string(), 1.0)).collect();
    let limits = Limits { time: Duration::from_millis(500), ..Limits::REQUEST };
    let hasty = room.world.with_limits(limits).await;
    let hold = room.world.endpoint.hold(Batch, "feeds_current");
    let answer = hasty.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    let body = answer.json();
    let statuses = statuses(&body);
    assert_eq!(statuses, [503, 503, 503]);
    drop(hold);
    assert_eq!(room.batch(&items).await["failed"], 0);
    assert_eq!(room.urls("days=7").await.len(), 3);
}

#[tokio::test]
async fn a_failure_for_one_provider_fails_no_other() {
    let room = Newsroom::new().await;
    room.put("feeds_locations", &json!({"partitionKey": "gazette", "id": "keys", "classes": 5}))
        .await;
    let items = [room.item("gazette", "a", 1.0), room.item("reuters", "b", 1.0)];
    let answer = room.world.post("/api/news/items/batch", json!({"items": items})).await;
    let body = answer.expect(200).json();
    assert_eq!(
        (&body["items"][0]["status"], &body["items"][1]["status"]),
        (&json!(500), &json!(201))
    );
}

#[tokio::test]
async fn a_post_behind_a_stale_replica_finds_the_item_where_it_is() {
    for container in ["feeds_locations", "feeds_current", "feeds_historical"] {
        let room = Newsroom::new().await;
        let frozen = room.world.stale_reads(container);
        room.post("reuters", "a", 1.0).await.expect(201);
        room.with_settings(HYBRID).await.post("reuters", "a", 60.0).await.expect(200);
        let item = room.with_settings(HYBRID).await.post("reuters", "a", 61.0).await;
        drop(frozen);
        assert_eq!(room.hot_and_warm().await, (0, 1), "{container}");
        let item = item.expect(200).json();
        assert_eq!(room.read(&item).await.expect(200).json(), item);
    }
}

#[tokio::test]
async fn a_post_that_comes_again_while_the_item_departs_changes_nothing() {
    let room = Newsroom::new().await;
    let mut body = room.item("reuters", "a", 1.0);
    let post = async |key: &'static str, body: &Value| {
        let key = [("x-azure-functions-invocationid", key)];
        room.world.call("POST", "/api/news/items", &key, Some(body.clone())).await
    };
    let item = post("creates", &body).await.expect(201).json();
    body["title"] = json!("Corrected");
    post("edits", &body).await.expect(200);
    drop(held((&room.world, Replace, "feeds_historical"), room.post("reuters", "a", 60.0)).await);
    let departing = room.stored("feeds_current", &item["id"]).await;
    assert_eq!(departing["state"], "departing");
    for (key, status) in [("creates", 201), ("edits", 200)] {
        assert_eq!(post(key, &body).await.expect(status).json()["title"], "Corrected");
    }
    assert_eq!(room.stored("feeds_current", &item["id"]).await, departing);
}
