//! `POST /news/items`.

use serde_json::json;

use super::given::{MONTHLY, Newsroom};
use crate::world::World;

#[tokio::test]
async fn a_new_item_is_created_in_the_partition_of_its_provider_and_time() {
    let room = Newsroom::new().await;
    let mut body = room.item("reuters", "a", 0.0);
    body["publishedDate"] = json!("2026-11-05T10:00:00.5+01:00");
    body["metadata"] = json!({"rawData": {"a": [1, 2.5]}});
    let answer = room.world.post("/api/news/items", body).await.expect(201);
    let item = answer.json();
    insta::assert_json_snapshot!(item, {".crawledDate" => "[date]"}, @r#"
    {
      "content": "Content of a",
      "crawledDate": "[date]",
      "feedProviderId": "reuters",
      "id": "c3aca635-5d83-5674-b98d-92704eb1973b",
      "metadata": {
        "rawData": {
          "a": [
            1,
            2.5
          ]
        }
      },
      "partitionKey": "reuters_2026-11",
      "publishedDate": "2026-11-05T09:00:00.500Z",
      "sourceUrl": "https://reuters.example.com/a",
      "tags": [
        "world"
      ],
      "title": "Title of a"
    }
    "#);
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
async fn an_item_posted_again_keeps_its_id_and_is_updated() {
    let room = Newsroom::new().await;
    let first = room.post("reuters", "a", 1.0).await.expect(201).json();
    let mut body = room.item("reuters", "a", 1.0);
    body["publishedDate"] = first["publishedDate"].clone();
    body["title"] = json!("A correction");
    let second = room.world.post("/api/news/items", body).await.expect(200).json();
    assert_eq!((&second["id"], &second["title"]), (&first["id"], &json!("A correction")));
    assert_eq!(room.read(&first).await.expect(200).json(), second);
    assert_eq!(room.urls("days=7").await, ["a"]);
}

#[tokio::test]
async fn a_provider_with_the_separator_in_its_name_has_keys_of_its_own() {
    let room = Newsroom::new().await;
    let one = room.post("a_2026-Q4", "x", 0.0).await.expect(201).json();
    let other = room.post("a", "x", 0.0).await.expect(201).json();
    assert_ne!(one["partitionKey"], other["partitionKey"]);
    room.read(&one).await.expect(200);
    room.read(&other).await.expect(200);
}

#[tokio::test]
async fn an_item_that_comes_late_goes_straight_to_the_container_of_its_age() {
    let room = Newsroom::new().await;
    for (url, days, container) in [
        ("new", 29.0, "feeds_current"),
        ("old", 40.0, "feeds_historical"),
        ("oldest", 900.0, "feeds_archive"),
    ] {
        let item = room.post("reuters", url, days).await.expect(201).json();
        let items = room.world.items(container).await;
        assert!(items.iter().any(|one| one["id"] == item["id"]), "{container}");
        assert_eq!(room.read(&item).await.expect(200).json(), item);
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
        let known = id.get_or_insert_with(|| item["id"].clone());
        assert_eq!(&item["id"], known);
        let read = room.read(&item).await.expect(200).json();
        assert_eq!(read, item);
        let mut live = 0;
        for container in ["feeds_current", "feeds_historical", "feeds_archive"] {
            live += room.live_in(container).await;
        }
        assert_eq!(live, 1, "after {days}");
        let query = format!("from={}&to={}", room.days_ago(days + 5.0), room.days_ago(days - 5.0));
        let wanted: &[&str] = if days >= 800.0 { &[] } else { &["a"] };
        assert_eq!(room.urls(&query).await, wanted, "after {days}");
    }
}

#[tokio::test]
async fn a_bad_item_is_refused_with_every_field() {
    let room = Newsroom::new().await;
    let body = json!({"feedProviderId": "a b", "title": "", "content": "\u{1}", "publishedDate": "soon",
        "sourceUrl": "ftp://a", "tags": [""], "metadata": []});
    let answer = room.world.post("/api/news/items", body).await.expect(400).json();
    let fields: Vec<&str> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        ["feedProviderId", "title", "content", "publishedDate", "sourceUrl", "tags[0]", "metadata"]
    );
}
