//! Faults that chaos injects, none of which loses a change.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tributary_local::chaos::{Chaos, ChaosKind};
use tributary_local::cosmos::EndpointOptions;
use tributary_local::host::FeedOptions;

use crate::support::{Handler, Received, Store, cosmos_function, feed_options, function};

/// Writes until the store no longer throttles.
async fn write(store: &Store, id: &str) {
    let document = json!({"id": id, "postId": id});
    while store.posts.upsert_item(id.to_owned(), id, &document, None).await.is_err() {}
}

#[tokio::test]
async fn chaos_loses_no_change() {
    let text = "duplicates=0.5,reorder=0.1,overlap=0.5,throttle=0.05,lost-answer=0.1,split=1";
    let chaos = Chaos::new(text.parse().unwrap(), 7);
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
    // This handler is too quick to be killed in the middle of a batch, and has no HTTP function. No
    // read is stale here.
    let kinds = |(kind, _): &(ChaosKind, u64)| {
        !matches!(kind, ChaosKind::Crash | ChaosKind::Repeat | ChaosKind::Stale)
    };
    let everything = || chaos.injected().into_iter().filter(kinds).all(|(_, times)| times > 0);
    let mut written = BTreeSet::new();
    let mut after_all = 0;
    while after_all < 100 && written.len() < 2_000 {
        after_all += usize::from(everything());
        let id = format!("p{}", written.len());
        write(&store, &id).await;
        written.insert(id);
    }
    chaos.stop();
    stop.cancel();
    running.await.unwrap();

    store.pump(&function(&cosmos_function()), &handler, feed_options()).drain().await.unwrap();
    let received = handler.received();
    let delivered: BTreeSet<String> = received.iter().flat_map(Received::ids).collect();
    let lost: Vec<_> = written.difference(&delivered).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), written.len());
    assert!(everything(), "{}", chaos.summary());
}
