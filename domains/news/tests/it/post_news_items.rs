//! `POST /news/items/batch`.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_functions::cosmos::Limits;
use tributary_local::cosmos::RequestKind::Batch;

use super::given::Newsroom;

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
    let answer =
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    let body = answer.json();
    let statuses: Vec<&Value> =
        body["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
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
async fn five_hundred_items_are_stored_with_one_request_each_and_some_transactions() {
    let room = Newsroom::new().await;
    let items: Vec<Value> =
        (0..500).map(|n| room.item(["reuters", "gazette"][n % 2], &format!("{n}"), 1.0)).collect();
    let before = room.world.endpoint.requests().len();
    let answer =
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    assert_eq!(answer.json()["succeeded"], 500);
    let requests = room.world.endpoint.requests().len() - before;
    assert!(requests < 520, "{requests}");
    assert_eq!(room.urls_by("days=7", 100).await.len(), 500);
    // Posted again, all are updated.
    let answer =
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    let body = answer.json();
    assert!(body["items"].as_array().unwrap().iter().all(|item| item["status"] == 200));
}

#[tokio::test]
async fn a_batch_has_one_to_five_hundred_items_and_at_most_four_mebibytes() {
    let room = Newsroom::new().await;
    let batch = async |items: Value| {
        room.world.post("/api/news/items/batch", json!({"items": items})).await
    };
    batch(json!([])).await.expect(400);
    batch(json!(vec![1; 501])).await.expect(400);
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
async fn a_batch_that_reaches_its_limit_has_a_status_for_each_item() {
    let room = Newsroom::new().await;
    room.post("reuters", "known", 1.0).await.expect(201);
    let limits = Limits { store_requests: 30, ..Limits::REQUEST };
    let hasty = room.world.with_limits(limits).await;
    let items: Vec<Value> = (0..200).map(|n| room.item("reuters", &n.to_string(), 1.0)).collect();
    let answer = hasty.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    let body = answer.json();
    let statuses: Vec<&Value> =
        body["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(statuses.len(), 200);
    assert!(statuses.iter().all(|status| [201, 503].contains(&status.as_u64().unwrap())));
    assert!(body["failed"].as_u64().unwrap() > 100, "{body}");
    // A refused item is stored when it is posted again.
    let answer = room.world.post("/api/news/items/batch", json!({"items": items})).await;
    assert_eq!(answer.expect(200).json()["failed"], 0);
    assert_eq!(room.urls_by("days=7", 100).await.len(), 201);
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
    let statuses: Vec<&Value> =
        body["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(statuses, [503, 503, 503]);
    drop(hold);
    let answer = room.world.post("/api/news/items/batch", json!({"items": items})).await;
    assert_eq!(answer.expect(200).json()["failed"], 0);
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
