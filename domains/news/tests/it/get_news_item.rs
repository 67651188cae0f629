//! `GET /news/items/{partitionKey}/{id}`.

use super::given::Newsroom;

#[tokio::test]
async fn an_item_is_found_in_every_container_and_its_answer_names_the_containers_read() {
    let room = Newsroom::new().await;
    for (days, containers) in [(1.0, "hot"), (40.0, "hot, warm"), (900.0, "hot, warm, archive")] {
        let item = room.post("reuters", &format!("{days}"), days).await.expect(201).json();
        let answer = room.read(&item).await.expect(200);
        assert_eq!(answer.header("x-containers-queried"), containers);
        let etag = answer.header("etag").to_owned();
        let path = format!(
            "/api/news/items/{}/{}",
            item["partitionKey"].as_str().unwrap(),
            item["id"].as_str().unwrap()
        );
        room.world.call("GET", &path, &[("if-none-match", &etag)], None).await.expect(304);
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
