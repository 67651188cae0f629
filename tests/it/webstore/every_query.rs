//! Every query of the WebStore, asked: `infra/indexes.rs` looks for the index of each.

use super::shop::{self, label, moved, product};
use crate::{http::expect::problem, world::World};

/// Asks every query of the catalog.
pub(crate) async fn ask(world: &World) {
    shop::stocked(world.clone()).await;
    for id in ["b2", "b3"] {
        product(world, "bikes", id, 1, &["red"]).await.expect(201);
    }
    for list in ["categories", "tags", "categories/bikes/products"] {
        let page = world.get(&format!("/api/{list}?limit=1")).await.expect(200).json();
        let cursor = page["nextCursor"].as_str().unwrap();
        world.get(&format!("/api/{list}?limit=1&cursor={cursor}")).await.expect(200);
    }
    for path in ["categories/bikes", "tags/red"] {
        label(world, path, "Renamed").await.expect(200);
        problem(&world.delete(&format!("/api/{path}")).await, 409);
    }
    moved(world, "bikes", "b1", "parts").await.expect(200);
    label(world, "tags/none", "None").await.expect(201);
    world.delete("/api/tags/none").await.expect(204);
    world.settle().await;
}
