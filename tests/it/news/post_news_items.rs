//! `POST /news/items/batch`.

use serde_json::{Value, json};

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
async fn five_hundred_items_are_stored_with_few_requests() {
    let room = Newsroom::new().await;
    let items: Vec<Value> =
        (0..500).map(|n| room.item(["reuters", "gazette"][n % 2], &format!("{n}"), 1.0)).collect();
    let before = room.world.endpoint.requests().len();
    let answer =
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
    assert_eq!(answer.json()["succeeded"], 500);
    let requests = room.world.endpoint.requests().len() - before;
    assert!(requests < 50, "{requests}");
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
