//! Samples of whole keys.

use std::fs;

use serde_json::{Value, json};

use crate::world::{ContainerWorld, by_customer, number_after, order, random};

/// Returns orders of customers. The first customers have most.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn skewed(n: u64) -> Vec<Value> {
    let customer = |n| ((500_f64).powf(random(n)) - 1.0) as u64;
    (0..n).map(|n| order(n, &format!("customer-{}", customer(n)))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_gives_the_first_key_of_the_whole() {
    let orders = skewed(2_500);
    let world = ContainerWorld::new(orders.clone()).await;
    let requests = [
        json!({"kind": "orders of a customer", "operation": "query", "filters": {"/customerId": "?"}, "limit": 20, "orderBy": "/createdAt desc", "frequency": {"perDay": 300_000}}),
        json!({"kind": "read", "operation": "read", "filters": {"/id": "?", "/customerId": "?"}, "frequency": {"perDay": 400_000}}),
        json!({"kind": "create", "operation": "create", "frequency": {"perDay": 5_000}}),
    ];
    let lines =
        |items: &[Value]| items.iter().fold(String::new(), |text, item| format!("{text}{item}\n"));
    fs::write(world.path("requests.jsonl"), lines(&requests)).unwrap();
    fs::write(world.path("whole.jsonl"), lines(&orders)).unwrap();
    let output = world
        .sample(&["--output", "items.jsonl", "--max-request-units", "250", "--seed", "17"])
        .await;
    assert_eq!(output.code, 0, "{output:?}");
    println!("{}", output.out);
    let drawn = world.items("items.jsonl");
    assert!((300..1_500).contains(&drawn.len()), "{} items: {output:?}", drawn.len());
    let all = number_after(&output.out, "--items-in-container ");
    assert!((1_700.0..3_600.0).contains(&all), "{all} for 2,500: {output:?}");
    let next = ContainerWorld::next(&output);
    let mut next: Vec<&str> = next.iter().map(String::as_str).collect();
    assert!(output.out.contains("--sampled keys") && output.out.contains("--current /customerId"));
    let page = world.run(&next).await;
    assert!(page.code < 2, "the printed command works as it is: {page:?}");
    next.push("--json");
    let of_sample = world.run(&next).await;
    let of_whole = ["advise", "--items", "whole.jsonl", "--requests", "requests.jsonl", "--json"];
    let of_whole = world.run(&of_whole).await;
    let first = |text: &str| {
        let advice: Value = serde_json::from_str(text).unwrap();
        advice["ranked"][0]["report"]["strategy"].clone()
    };
    assert_eq!(first(&of_sample.out), "/customerId", "{of_sample:?}");
    assert_eq!(first(&of_sample.out), first(&of_whole.out));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_whole_or_not_there() {
    let orders = skewed(1_200);
    let whole = by_customer(&orders);
    let world = ContainerWorld::new(orders).await;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let arguments = ["--output", "items.jsonl", "--force", "--max-request-units", "150"];
        let output = world.sample(&[&arguments[..], &["--seed", seed]].concat()).await;
        assert!(output.code < 2, "{output:?}");
        let drawn = by_customer(&world.items("items.jsonl"));
        assert!(drawn.len() < whole.len(), "it is a part");
        for (customer, items) in drawn {
            assert_eq!(items, whole[&customer], "seed {seed}: {customer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_costs_at_most_its_request_units_as_the_store_counts_them() {
    let mut orders = skewed(600);
    orders.extend((600..1_400).map(|n| order(n, "contoso")));
    // Items of very different sizes.
    for (n, order) in orders.iter_mut().enumerate() {
        order["x"] = "x".repeat(if n % 10 == 0 { 4_000 } else { 100 }).into();
    }
    let world = ContainerWorld::new(orders).await;
    world.charged();
    for draw in ["keys", "items"] {
        for most in [40.0, 120.0, 360.0_f64] {
            for seed in ["1", "2", "3"] {
                let bound = most.to_string();
                let arguments =
                    ["--output", "items.jsonl", "--force", "--draw", draw, "--seed", seed];
                let output = world
                    .sample(&[&arguments[..], &["--max-request-units", &bound]].concat())
                    .await;
                let charged = world.charged();
                assert!(charged <= most, "{draw}, {most}, {seed}: {charged}, {output:?}");
                if output.code < 2 {
                    let told = number_after(&output.out, "of the container, for ");
                    assert!((told - charged).abs() < 0.01, "{told} for {charged}: {output:?}");
                    assert!(charged > most / 4.0 || output.out.contains(": all of"), "{output:?}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_draws_the_same_keys_and_another_seed_others() {
    let world = ContainerWorld::new(skewed(600)).await;
    let mut drawn = Vec::new();
    for (file, seed) in [("a", "1"), ("b", "1"), ("c", "2")] {
        let output =
            world.sample(&["--output", file, "--max-request-units", "80", "--seed", seed]).await;
        assert!(
            output.code < 2 && output.out.contains(&format!("The seed was {seed}.")),
            "{output:?}"
        );
        drawn.push(by_customer(&world.items(file)));
    }
    assert_eq!(drawn[0], drawn[1]);
    assert_ne!(drawn[0], drawn[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_container_is_drawn_whole() {
    let world = ContainerWorld::new(skewed(60)).await;
    let output = world.sample(&["--output", "items.jsonl"]).await;
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(world.items("items.jsonl").len(), 60);
    assert!(
        output.out.contains("all of the container") && !output.out.contains("--sampled"),
        "{output:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_values_of_the_first_level_of_a_hierarchical_key_are_drawn() {
    let tenant = |n: u64| format!("tenant-{}", n % 60);
    let orders = (0..900).map(|n| {
        let mut order = order(n, &format!("customer-{}", n % 300));
        order["tenantId"] = tenant(n).into();
        order
    });
    let world = ContainerWorld::with(&["/tenantId", "/customerId"], orders.collect(), None).await;
    let output = world
        .sample(&["--output", "items.jsonl", "--max-request-units", "150", "--seed", "3"])
        .await;
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.out.contains("--current /tenantId,/customerId"), "{output:?}");
    assert!(output.out.contains("--sampled /tenantId"), "{output:?}");
    let drawn = world.items("items.jsonl");
    let of = |name: &str| drawn.iter().filter(|item| item["tenantId"] == name).count();
    assert!((0..60).map(tenant).all(|tenant| [0, 15].contains(&of(&tenant))), "{output:?}");
    assert!((15..900).contains(&drawn.len()), "{}", drawn.len());
}
