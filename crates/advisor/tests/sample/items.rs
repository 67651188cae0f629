//! Samples of single items.

use serde_json::Value;

use crate::world::{ContainerWorld, by_customer, number_after, order, random};

/// Returns orders of which one customer has 80 %.
fn orders() -> Vec<Value> {
    let customer = |n: u64| match random(n) {
        many if many < 0.8 => "contoso".to_owned(),
        _ => format!("customer-{}", n % 300),
    };
    (0..1_500).map(|n| order(n, &customer(n))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_drawn_across_the_container() {
    let world = ContainerWorld::new(orders()).await;
    let output = world
        .sample(&["--output", "items.jsonl", "--draw", "items", "--max-request-units", "250"])
        .await;
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.out.contains("--sampled items"), "{output:?}");
    let all = number_after(&output.out, "--items-in-container ");
    assert!((1_000.0..2_200.0).contains(&all), "{all} for 1,500: {output:?}");
    let drawn = world.items("items.jsonl");
    assert!((50..1_000).contains(&drawn.len()), "{}: {output:?}", drawn.len());
    let share = by_customer(&drawn)["\"contoso\""] as f64 / drawn.len() as f64;
    assert!((0.65..0.95).contains(&share), "{share} for 0.8");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_end_alike_are_refused() {
    let mut orders = orders();
    for order in &mut orders {
        order["id"] = format!("{}-x", order["id"].as_str().unwrap()).into();
    }
    let world = ContainerWorld::new(orders).await;
    let output = world.sample(&["--output", "items.jsonl", "--draw", "items"]).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.err.contains("the ids end in the same character"), "{output:?}");
    assert!(world.files().is_empty(), "{:?}", world.files());
}
