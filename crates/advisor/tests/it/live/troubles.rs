//! Containers that a sample cannot simply be drawn from.

use serde_json::json;
use tributary_local::cosmos::{Fault, RequestKind};

use super::{ContainerWorld, order};

/// In the middle of a key, for longer than the SDK retries: the portion is read anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_throttled_store_is_waited_for_and_gives_each_item_once() {
    let world = ContainerWorld::new((0..300).map(|n| order(n, "contoso")).collect()).await;
    world.endpoint.take_requests();
    let sample = world.sample(&["--output", "items.jsonl"]);
    let throttled = async {
        let mut held = world.endpoint.hold(RequestKind::Query, "orders");
        loop {
            held.arrived().await;
            let requests = world.endpoint.requests();
            let answers = requests.iter().filter_map(|request| request.answer.as_ref());
            // The first page of the sample has one item.
            if answers.map(|answer| answer.items_returned).sum::<u32>() > 1 {
                break;
            }
            let next = world.endpoint.hold(RequestKind::Query, "orders");
            held.release();
            held = next;
        }
        world.endpoint.inject(Fault::Refused(429), RequestKind::Query, "orders", 25);
        held.release();
    };
    let (output, ()) = tokio::join!(sample, throttled);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(world.items("items.jsonl").len(), 300, "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_items_stop_nothing() {
    let mut orders = vec![order(1, "ann")];
    let mut deep = json!(1);
    for _ in 0..124 {
        deep = json!([deep]);
    }
    orders.extend([
        json!({"id": "no-key"}),
        json!({"id": "null-key", "customerId": null}),
        json!({"id": "number", "customerId": 17.5}),
        json!({"id": "long", "customerId": "y".repeat(1_500), "line": "one\ntwo\u{2028}three"}),
        json!({"id": "deep", "customerId": "deep", "deep": deep}),
    ]);
    let world = ContainerWorld::new(orders).await;
    let output = world.sample(&["--output", "items.jsonl"]).await;
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(world.items("items.jsonl").len(), 6, "{output:?}");
    let next = ["advise", "--items", "items.jsonl", "--current", "/customerId"];
    assert!(world.run(&next).await.code < 2, "the advisor takes them");
}
