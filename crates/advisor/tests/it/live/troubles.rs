//! Containers that a sample cannot simply be drawn from.

use std::time::Duration;

use azure_data_cosmos::options::ReadFeedRangesOptions;
use serde_json::{Value, json};
use tributary_local::{
    chaos::Chaos,
    cosmos::{Fault, RequestKind},
};

use super::{ContainerWorld, by_customer, order};

/// Returns four orders of each of 20 customers.
fn orders() -> Vec<Value> {
    (0..80).map(|n| order(n, &format!("customer-{}", n % 20))).collect()
}

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
async fn a_partition_that_splits_meanwhile_gives_each_item_once() {
    let chaos = Chaos::new("split=8".parse().unwrap(), 7);
    let world = ContainerWorld::with(orders(), Some(chaos)).await;
    let container = world.container().await;
    let partitions = async || {
        let options = ReadFeedRangesOptions::default().with_force_refresh(true);
        container.read_feed_ranges(Some(options)).await.unwrap().len()
    };
    let before = partitions().await;
    let sample = world.sample(&["--output", "items.jsonl"]);
    let splits = async {
        let mut held = world.endpoint.hold(RequestKind::Query, "orders");
        held.arrived().await;
        // Pages after that.
        for _ in 0..2 {
            let next = world.endpoint.hold(RequestKind::Query, "orders");
            held.release();
            held = next;
            held.arrived().await;
        }
        let again = order(1, "customer-1");
        let split = async {
            while partitions().await < before + 2 {
                for _ in 0..50 {
                    let _ = container.upsert_item("customer-1", "order-1", &again, None).await;
                }
            }
        };
        tokio::time::timeout(Duration::from_mins(1), split).await.unwrap();
        held.release();
    };
    let (output, ()) = tokio::join!(sample, splits);
    assert_eq!(output.code, 0, "{output:?}");
    let drawn = by_customer(&world.items("items.jsonl"));
    assert_eq!(drawn.len(), 20, "{output:?}");
    assert!(drawn.values().all(|items| *items == 4), "{drawn:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_items_stop_nothing() {
    let mut orders = orders();
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
    assert_eq!(world.items("items.jsonl").len(), 85, "{output:?}");
    let next = ["advise", "--items", "items.jsonl", "--current", "/customerId"];
    assert!(world.run(&next).await.code < 2, "the advisor takes them");
}
