//! Each domain's `demo.json`.

use std::path::Path;

use tributary_local::{
    client::Client,
    cosmos::{Fault, RequestKind},
    demo::Demo,
};

use crate::hosted::Hosted;

/// A thread has 2 MiB. The frames of a debug build are the large ones, and an app adds its own.
#[tokio::test]
async fn each_demo_is_shown_twice_in_half_of_a_stack_without_a_warning_though_changes_lose_a_race()
{
    let hosted = Hosted::with(&[("RUST_MIN_STACK", "1200000")]).await;
    hosted.endpoint.inject(Fault::Refused(412), RequestKind::Batch, "feed", 1);
    let client = Client::new(hosted.host.url()).unwrap();
    let demos = Demo::read_all(Path::new(env!("CARGO_MANIFEST_DIR")), &[]).unwrap();
    // A second load changes nothing.
    for demo in demos.iter().chain(&demos) {
        demo.send(&client, || ()).await.unwrap();
        demo.wait(&client).await.unwrap();
    }
    let lines = hosted.console.lines();
    let told: Vec<_> = lines.iter().filter(|line| line.starts_with("handler ")).collect();
    assert!(told.is_empty(), "{told:#?}");
    hosted.host.stop().await;
}
