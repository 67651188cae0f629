//! Q6: `GET /feed`.

use crate::{
    expect::{bad_fields, charged, free_of_charge},
    world::World,
};

#[tokio::test]
async fn the_feed_of_an_empty_blog_is_empty() {
    let world = World::new().await;
    for query in ["", "?", "?limit=1", "?limit=100", "?unknown=1"] {
        let answer = world.get(&format!("/api/feed{query}")).await.expect(200);
        assert_eq!(answer.text, r#"{"items":[]}"#);
        charged(&answer);
    }
}

#[tokio::test]
async fn a_bad_limit_is_refused() {
    let world = World::new().await;
    for limit in ["0", "101", "-1", "abc", "", "1.5", "1e1", "%20", "99999999999999999999", "%FF"] {
        let answer = world.get(&format!("/api/feed?limit={limit}")).await;
        assert_eq!(bad_fields(&answer), ["limit"], "{limit:?}");
        free_of_charge(&answer);
    }
}
