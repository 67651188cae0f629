//! The file that a sample is written to.

use std::{fs, process::Stdio, time::Duration};

use tokio::process::Command;
use tributary_local::cosmos::RequestKind;

use super::{ContainerWorld, order};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_comes_meanwhile_stays_as_it_is() {
    let world = ContainerWorld::new(vec![order(1, "ann")]).await;
    let mut query = world.endpoint.hold(RequestKind::Query, "orders");
    let output = world.sample(&["--output", "items.jsonl"]);
    let other = async {
        query.arrived().await;
        fs::write(world.folder.path("items.jsonl"), "mine").unwrap();
        query.release();
    };
    let (output, ()) = tokio::join!(output, other);
    assert_eq!(output.code, 2, "{output:?}");
    let again = world.sample(&["--output", "items.jsonl"]).await;
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.err.contains("items.jsonl is there already"), "{again:?}");
    assert_eq!(world.folder.read("items.jsonl"), "mine");
    assert_eq!(world.files(), ["items.jsonl"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_sample_leaves_no_file() {
    let world = ContainerWorld::new(vec![order(1, "ann")]).await;
    let mut query = world.endpoint.hold(RequestKind::Query, "orders");
    let mut command =
        world.command(&["sample", "--container", "orders", "--output", "items.jsonl"]);
    let sample = command.stderr(Stdio::piped()).spawn().unwrap();
    query.arrived().await;
    let id = sample.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let ended = tokio::time::timeout(Duration::from_secs(30), sample.wait_with_output());
    let output = ended.await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no sample was written"));
    assert!(world.files().is_empty(), "{:?}", world.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_input_is_an_error_in_a_sentence() {
    let world = ContainerWorld::new(Vec::new()).await;
    let url = world.server.url();
    for (arguments, sentence) in [
        ("sample --container none --output a", "there is no container `none`"),
        ("sample --container orders --output items.jsonl", "the container is empty"),
        ("sample --container orders --output .", "is there already"),
        ("sample --container orders --output none/a", "none/a cannot be written"),
        ("sample --container orders --output a --max-request-units 1", "from 20 on"),
        ("sample --container orders --output a --cosmos AccountKey=sesame", "--cosmos takes"),
        ("monitor --container none", "there is no container `none` in the database `tributary`"),
        ("monitor --container orders --telemetry /none.jsonl", "/none.jsonl cannot be read"),
        ("monitor --container orders --items items.jsonl", "--current"),
    ] {
        let output = world.run(&arguments.split(' ').collect::<Vec<_>>()).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains(sentence) && !output.err.contains("sesame"), "{output:?}");
        assert!(!output.err.contains(&url), "{output:?}");
        assert!(world.files().is_empty(), "{:?}", world.files());
    }
}
