//! What goes wrong on purpose, and that no change is lost by it.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tributary_local::chaos::{Chaos, Kind};
use tributary_local::cosmos::EndpointOptions;
use tributary_local::host::{Console, FeedOptions, HandlerError, HandlerOptions, HandlerProcess};

use crate::support::{
    Handler, Received, Store, cosmos_function, echo_handler, eventually, feed_options, function,
    settings,
};

fn chaos(text: &str) -> Chaos {
    Chaos::new(text.parse().unwrap(), 7)
}

/// Writes until the store is no longer busy.
async fn write(store: &Store, id: &str, version: u64) {
    let document = json!({"id": id, "postId": id, "version": version});
    while store.posts.upsert_item(id.to_owned(), id, &document, None).await.is_err() {}
}

/// The newest version of each document that the handler was given.
fn newest(received: &[Received]) -> HashMap<String, u64> {
    let mut newest = HashMap::new();
    for document in received.iter().flat_map(Received::documents) {
        let id = document["id"].as_str().unwrap().to_owned();
        let version = document["version"].as_u64().unwrap();
        let known = newest.entry(id).or_insert(version);
        *known = version.max(*known);
    }
    newest
}

#[tokio::test]
async fn every_change_is_delivered_whatever_goes_wrong() {
    let text = "duplicates=0.3,reorder=0.3,overlap=0.3,throttle=0.05,lost-answer=0.1,split=1";
    let chaos = chaos(text);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let store = Store::with_options(options).await;
    let handler = Handler::default();
    let options = FeedOptions {
        poll_delay: Some(Duration::from_millis(5)),
        chaos: Some(chaos.clone()),
        ..feed_options()
    };
    let pump = store.pump(&function(&cosmos_function()), &handler, options);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { pump.run(stop).await }
    });
    let splits = || chaos.injected().iter().any(|(kind, n)| *kind == Kind::Split && *n == 1);
    let mut version = 0;
    while !splits() {
        version += 1;
        for document in 0..20 {
            write(&store, &format!("p{document}"), version).await;
        }
    }
    chaos.stop();
    stop.cancel();
    running.await.unwrap();

    store.pump(&function(&cosmos_function()), &handler, feed_options()).drain().await.unwrap();
    let newest = newest(&handler.received());
    assert_eq!(newest.len(), 20);
    assert!(newest.values().all(|delivered| *delivered == version), "{version}: {newest:?}");
    // This handler is too quick to be killed in the middle of anything.
    let mut injected = chaos.injected().into_iter().filter(|(kind, _)| *kind != Kind::Crash);
    assert!(injected.all(|(_, injected)| injected > 0), "{}", chaos.summary());
}

#[tokio::test]
async fn a_handler_that_is_killed_on_purpose_is_started_again_however_often() {
    let folder = std::env::temp_dir();
    let options = HandlerOptions {
        executable: echo_handler(),
        arguments: Vec::new(),
        working_directory: folder,
        settings: settings(),
        launcher: None,
        start_timeout: Duration::from_secs(30),
    };
    let handler = HandlerProcess::start(options, Console::kept());
    let watch = handler.watch();
    let mut last = watch.url().await.unwrap();
    for _ in 0..4 {
        watch.crash();
        last = eventually("it listens elsewhere", async || match watch.url().await {
            Ok(url) => (url != last).then_some(url),
            Err(HandlerError::ThreeErrors(_)) => panic!("it counted as an error"),
            Err(_) => None,
        })
        .await;
    }
    handler.stop().await;
}
