//! Samples of single items.

use std::fs;

use serde_json::{Value, json};

use crate::world::{ContainerWorld, by_customer, number_after, order, random};

/// Returns orders of which one customer has 80 %.
pub(crate) fn orders(n: u64) -> Vec<Value> {
    let customer = |n: u64| match random(n) {
        many if many < 0.8 => "contoso".to_owned(),
        _ => format!("customer-{}", n % 300),
    };
    (0..n).map(|n| order(n, &customer(n))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_drawn_across_the_container_and_the_printed_command_takes_them() {
    let world = ContainerWorld::new(orders(1_500)).await;
    let request = json!({"kind": "orders of a customer", "operation": "query", "filters": {"/customerId": "?"}});
    fs::write(world.path("requests.jsonl"), request.to_string()).unwrap();
    let mut drawn = Vec::new();
    for seed in ["1", "1", "2"] {
        let arguments = ["--output", "items.jsonl", "--force", "--max-request-units", "250"];
        let output = world.sample(&[&arguments[..], &["--seed", seed]].concat()).await;
        assert_eq!(output.code, 0, "{output:?}");
        let all = number_after(&output.out, "--items-in-container ");
        assert!((1_000.0..2_200.0).contains(&all), "{all} for 1,500: {output:?}");
        let items = world.items("items.jsonl");
        assert!((50..1_000).contains(&items.len()), "{}: {output:?}", items.len());
        let share = by_customer(&items)["\"contoso\""] as f64 / items.len() as f64;
        assert!((0.65..0.95).contains(&share), "{share} for 0.8");
        let next = ContainerWorld::next(&output);
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        assert!(next.ends_with(&["--sampled", "items"]), "{next:?}");
        let advice = world.run(&next).await;
        assert!([0, 1, 3].contains(&advice.code), "{advice:?}");
        drawn.push(items);
    }
    assert!(drawn[0] == drawn[1] && drawn[0] != drawn[2], "the seed decides");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_costs_at_most_its_request_units_as_the_store_counts_them() {
    let mut orders = orders(1_400);
    // Items of very different sizes.
    for (n, order) in orders.iter_mut().enumerate() {
        order["x"] = "x".repeat(if n % 10 == 0 { 4_000 } else { 100 }).into();
    }
    let world = ContainerWorld::new(orders).await;
    world.charged();
    for most in [40.0, 120.0, 360.0_f64] {
        for seed in ["1", "2", "3"] {
            let bound = most.to_string();
            let arguments = ["--output", "items.jsonl", "--force", "--seed", seed];
            let output =
                world.sample(&[&arguments[..], &["--max-request-units", &bound]].concat()).await;
            let charged = world.charged();
            assert!(charged <= most, "{most}, {seed}: {charged}, {output:?}");
            if output.code == 0 {
                let told = number_after(&output.out, "of the container, for ");
                assert!((told - charged).abs() < 0.01, "{told} for {charged}: {output:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_end_alike_are_refused() {
    let mut orders = orders(1_500);
    for order in &mut orders {
        order["id"] = format!("{}-x", order["id"].as_str().unwrap()).into();
    }
    let world = ContainerWorld::new(orders).await;
    let output = world.sample(&["--output", "items.jsonl", "--max-request-units", "250"]).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.err.contains("the ids end in the same character"), "{output:?}");
    assert!(world.files().is_empty(), "{:?}", world.files());
}
