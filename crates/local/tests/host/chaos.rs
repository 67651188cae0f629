//! Faults that chaos injects, none of which loses a change.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tributary_local::chaos::{Chaos, ChaosKind};
use tributary_local::cosmos::EndpointOptions;
use tributary_local::host::{Console, FeedOptions, HandlerOptions, HandlerProcess};

use crate::http::try_get;
use crate::support::{
    Handler, Received, Store, cosmos_function, echo_handler, eventually, feed_options, function,
    settings,
};

fn chaos(text: &str) -> Chaos {
    Chaos::new(text.parse().unwrap(), 7)
}

/// Writes until the store no longer throttles.
async fn write(store: &Store, id: &str) {
    let document = json!({"id": id, "postId": id});
    while store.posts.upsert_item(id.to_owned(), id, &document, None).await.is_err() {}
}

#[tokio::test]
async fn chaos_loses_no_change() {
    let text = "duplicates=0.5,reorder=0.1,overlap=0.5,throttle=0.01,lost-answer=0.1,split=1";
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
    // This handler is too quick to be killed in the middle of a batch, and has no HTTP function. No
    // read is stale here.
    let kinds = |(kind, _): &(ChaosKind, u64)| {
        !matches!(kind, ChaosKind::Crash | ChaosKind::Repeat | ChaosKind::Stale)
    };
    let everything = || chaos.injected().into_iter().filter(kinds).all(|(_, times)| times > 0);
    let mut written = BTreeSet::new();
    let mut after_all = 0;
    while after_all < 500 && written.len() < 5_000 {
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

#[tokio::test]
async fn a_handler_that_chaos_kills_is_restarted_each_time() {
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
    let url = watch.url().await.unwrap();
    let process = async || {
        assert_eq!(watch.url().await.unwrap(), url, "the port stays the same");
        try_get(&format!("{url}/api/who")).await.map(|answer| answer.json()["process"].clone())
    };
    let mut last = process().await.unwrap();
    for _ in 0..4 {
        watch.crash();
        last = eventually("it is another process", async || {
            process().await.filter(|process| *process != last)
        })
        .await;
    }
    handler.stop().await;
}
