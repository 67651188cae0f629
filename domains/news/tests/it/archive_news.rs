//! The timer `NewsArchive` and `POST /news/archive`.

use serde_json::json;

use super::given::Newsroom;

#[tokio::test]
async fn whole_partitions_go_to_the_archive_after_two_years_with_a_record() {
    let room = Newsroom::new().await;
    let items = [("old", 95.0), ("older", 100.0), ("new", 1.0)];
    let mut posted = Vec::new();
    for (url, days) in items {
        posted.push(room.post("gazette", url, days).await.expect(201).json());
    }
    assert_eq!(room.archive().await["archived"], 0);
    room.days_pass(731).await;
    let due = room.world.post("/api/news/archive?dryRun=true", json!({})).await.expect(200).json();
    assert_eq!(due["wouldArchive"], 2);
    assert_eq!(room.live_in("feeds_archive").await, 0);
    assert_eq!(room.archive().await, json!({"archived": 2, "failed": 0, "complete": true}));
    let records = room.world.items("feeds_locations").await;
    let archived: u64 = records
        .iter()
        .filter(|record| record["archivedAt"].is_string())
        .map(|record| record["items"].as_u64().unwrap())
        .sum();
    assert_eq!(archived, 2);
    room.days_pass(2).await;
    for item in &posted {
        assert_eq!(&room.read(item).await.expect(200).json(), item);
    }
    room.world.post("/api/news/archive?dryRun=perhaps", json!({})).await.expect(400);
}
