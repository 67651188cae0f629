//! Each domain's `demo.json`.

use std::path::Path;

use tokio::net::TcpListener;
use tributary_local::client::Client;
use tributary_local::{
    cosmos::{Fault, RequestKind},
    demo::Demo,
};

use crate::{hosted::Hosted, world::World};

#[tokio::test]
async fn each_demo_is_accepted_and_shown_and_a_second_load_changes_nothing() {
    let world = World::new().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let router = world.router.clone();
    tokio::spawn(async { axum::serve(listener, router).await });

    for _ in 0..2 {
        load(&client, world.settle()).await;
    }
}

/// A thread has 2 MiB. The frames of a debug build are the large ones, and an app adds its own.
#[tokio::test]
async fn the_demos_are_loaded_in_half_of_a_stack_without_a_warning_though_changes_lose_a_race() {
    let hosted = Hosted::with(&[("RUST_MIN_STACK", "1200000")]).await;
    hosted.endpoint.inject(Fault::Refused(412), RequestKind::Batch, "feed", 1);
    load(&Client::new(hosted.host.url()).unwrap(), async {}).await;
    let lines = hosted.console.lines();
    let told: Vec<_> = lines.iter().filter(|line| line.starts_with("handler ")).collect();
    assert!(told.is_empty(), "{told:#?}");
    hosted.host.stop().await;
}

async fn load(client: &Client, settle: impl Future<Output = ()>) {
    let demos = Demo::read_all(Path::new(env!("CARGO_MANIFEST_DIR")), &[]).unwrap();
    for demo in &demos {
        demo.send(client, || ()).await.unwrap();
    }
    settle.await;
    for demo in &demos {
        demo.wait(client).await.unwrap();
    }
}
