//! Providers that become ones of high volume, and cease to be.

use super::given::{HYBRID, Newsroom};

#[tokio::test]
async fn a_provider_that_changes_class_keeps_all_its_items_findable() {
    let room = Newsroom::new().await;
    let old = room.post("gazette", "old", 3.0).await.expect(201).json();
    let busy = room.with_settings(&[("News__HighVolumeProviders", "reuters, gazette")]).await;
    busy.post("gazette", "new", 1.0).await.expect(201);
    assert_eq!(busy.urls("provider=gazette").await, ["new", "old"]);
    assert_eq!(busy.urls("days=7").await, ["new", "old"]);
    // An item keeps its key as long as it keeps its date.
    let mut body = busy.item("gazette", "old", 3.0);
    body["publishedDate"] = old["publishedDate"].clone();
    let again = busy.world.post("/api/news/items", body).await.expect(200).json();
    assert_eq!(again["partitionKey"], old["partitionKey"]);
    let quiet = room.with_settings(HYBRID).await;
    assert_eq!(quiet.urls("provider=gazette").await, ["new", "old"]);
}
