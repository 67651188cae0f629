//! Every query of the news, asked: `infra/indexes.rs` looks for the index of each.

use serde_json::json;

use crate::news::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

/// Asks every query of the news.
pub(crate) async fn ask(world: &World) {
    // What is in the warm container here is due to go to the archive there.
    let later = Newsroom::with(world.clone(), &[("News__ArchiveAfterYears", "9")]).await;
    for url in ["o", "p"] {
        later.post("gazette", url, 1_200.0).await.expect(201);
    }
    for settings in [HYBRID, MONTHLY] {
        let room = later.with_settings(settings).await;
        let name = settings[0].0;
        let of = |days| room.item("reuters", &format!("{name}{days}"), days);
        let items: Vec<_> = [1.0, 2.0, 3.0, 50.0, 51.0, 52.0].map(of).into();
        room.world.post("/api/news/items/batch", json!({"items": items})).await.expect(200);
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
