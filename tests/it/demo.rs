//! Each domain's `demo.json`.

use std::path::Path;

use tokio::net::TcpListener;
use tributary_local::demo::Demo;
use tributary_tools::Client;

use crate::world::World;

#[tokio::test]
async fn each_demo_is_accepted_and_shown_and_loading_it_again_changes_nothing() {
    let world = World::new().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let router = world.router.clone();
    tokio::spawn(async { axum::serve(listener, router).await });

    let demos = Demo::read_all(Path::new(env!("CARGO_MANIFEST_DIR")), &[]).unwrap();
    for _ in 0..2 {
        for demo in &demos {
            demo.send(&client).await.unwrap();
        }
        world.settle().await;
        for demo in &demos {
            demo.wait(&client).await.unwrap();
        }
    }
}
