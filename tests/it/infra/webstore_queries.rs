//! Every query of the WebStore, asked: `infra/indexes.rs` looks for the index of each.

use crate::webstore::{
    given::{self, line},
    shop::{self, label, moved, product},
};
use crate::{expect::problem, world::World};

/// Asks every query of the WebStore.
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
    customers(world).await;
}

/// Asks every query of customers and orders.
async fn customers(world: &World) {
    given::shop_in(world.clone()).await;
    let lines = [line("c1", "p1", 1), line("c1", "p2", 1)];
    for _ in 0..2 {
        given::order_of(world, "ann", &lines).await.expect(201);
    }
    let path = "/api/customers/ann/orders?limit=1";
    let page = world.get(path).await.expect(200).json();
    let cursor = page["nextCursor"].as_str().unwrap();
    world.get(&format!("{path}&cursor={cursor}")).await.expect(200);
    for path in [
        "customers/ann?include=orders",
        "reports/top-customers?source=query",
        "reports/top-customers?source=leaderboard",
    ] {
        world.get(&format!("/api/{path}")).await.expect(200);
    }
    // Some of the requests that come at once under one key find the order.
    let order = || given::order_once(world, "k", "ann", &lines);
    tokio::join!(order(), order(), order());
}
