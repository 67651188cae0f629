//! The indexing policies of `infra/containers.json` against every query of the app.

use serde_json::json;
use tributary_testing::checks::{indexes::every_query_has_an_index, send_examples};

use crate::{
    audit,
    blog::{comment, like, post, user},
    news::{HYBRID, MONTHLY, Newsroom},
    world::World,
};

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    send_examples(&world).await;
    crowd(&world).await;
    old_news(&world).await;
    audit::run_all(&world).await;
    every_query_has_an_index(&world);
}

/// So many posts and likes at once that items are looked up by a query.
async fn crowd(world: &World) {
    for (id, name) in [("cy", "Cy"), ("dan", "Dan")] {
        user(world, id, name).await.expect(201);
    }
    for id in ["p1", "p2", "p3"] {
        post(world, id, "cy").await.expect(201);
    }
    like(world, "p1", "cy").await.expect(201);
    // One of these requests repeats a like.
    tokio::join!(
        like(world, "p1", "cy"),
        like(world, "p1", "dan"),
        comment(world, "p1", "dan", "!")
    );
    world.settle().await;
}

async fn old_news(world: &World) {
    // The warm container here has items that are due to go to the archive there.
    let later = Newsroom::with(world.clone(), &[("News__ArchiveAfterYears", "9")]).await;
    for url in ["o", "p"] {
        later.post("gazette", url, 1_200.0).await.expect(201);
    }
    for settings in [HYBRID, MONTHLY] {
        let room = later.with_settings(settings).await;
        let name = settings[0].0;
        let of = |days| room.item("reuters", &format!("{name}{days}"), days);
        let items: Vec<_> = [1.0, 2.0, 3.0, 50.0, 51.0, 52.0].map(of).into();
        room.batch(&items).await;
        for filter in ["", "&provider=reuters"] {
            // Pages of both containers, and those that go on inside of one.
            room.urls_by(&format!("days=60{filter}"), 2).await;
            let path = format!("/api/news/search?q=title&days=60{filter}");
            room.world.get(&path).await.expect(200);
        }
        room.migrate().await;
        room.world.post("/api/news/archive?dryRun=true", json!({})).await.expect(200);
        room.archive().await;
    }
}
