//! `GET /news/search`.

use serde_json::json;

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

#[tokio::test]
async fn a_text_is_found_in_title_content_and_tags_in_any_case() {
    for settings in [HYBRID, MONTHLY] {
        let room = Newsroom::with(World::new().await, settings).await;
        for (n, (title, content, tag)) in (0_u32..).zip([
            ("The Economy", "x", "x"),
            ("x", "an ECONOMY", "x"),
            ("x", "x", "economy"),
            ("x", "x", "x"),
        ]) {
            let mut body = room.item("reuters", &format!("{n}"), f64::from(n) * 12.0);
            (body["title"], body["content"], body["tags"]) =
                (json!(title), json!(content), json!(["first", tag]));
            room.world.post("/api/news/items", body).await.expect(201);
        }
        let found = async |query: &str| {
            let answer =
                room.world.get(&format!("/api/news/search?{query}")).await.expect(200).json();
            answer["items"].as_array().unwrap().len()
        };
        assert_eq!(found("q=economy").await, 3);
        assert_eq!(found("q=eCoNo&provider=reuters").await, 3);
        assert_eq!(found("q=economy&provider=gazette").await, 0);
        // The window is 30 days by default.
        assert_eq!(found("q=first").await, 3);
        assert_eq!(found(&format!("q=first&from={}", room.days_ago(50.0))).await, 4);
        // No text reaches from one tag into the next.
        assert_eq!(found("q=firsteconomy").await, 0);
    }
}

#[tokio::test]
async fn a_search_needs_a_text_of_two_to_a_hundred_characters() {
    let room = Newsroom::new().await;
    for bad in ["", "q=a", &format!("q={}", "a".repeat(101)), "q=ab&from=2026-06-01&to=2026-01-01"]
    {
        room.world.get(&format!("/api/news/search?{bad}")).await.expect(400);
    }
    room.world.get(&format!("/api/news/search?q={}", "%C3%A4".repeat(100))).await.expect(200);
}
