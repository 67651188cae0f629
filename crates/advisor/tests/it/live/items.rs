//! Samples of single items.

use std::fs;

use serde_json::json;

use super::{ContainerWorld, monitor::live, number_after, orders};

/// One customer has 80 % of the items, behind the hashes of many others. `monitor` draws its sample, too.
#[tokio::test(flavor = "multi_thread")]
async fn items_are_drawn_across_the_container_and_the_printed_command_takes_them() {
    let world = ContainerWorld::new(orders(1_500)).await;
    let request = json!({"kind": "orders of a customer", "operation": "query", "filters": {"/customerId": "?"}});
    fs::write(world.folder.path("requests.jsonl"), request.to_string()).unwrap();
    let bound = ["--max-request-units", "250"];
    let is_near = |all: f64| (0.65 * 1_500.0..1.5 * 1_500.0).contains(&all);
    let mut drawn = Vec::new();
    let mut next = String::new();
    for (name, seed) in [("a.jsonl", "1"), ("b.jsonl", "1"), ("c.jsonl", "2")] {
        let arguments = ["--output", name, "--seed", seed];
        let output = world.sample(&[arguments.as_slice(), &bound].concat()).await;
        assert_eq!(output.code, 0, "{output:?}");
        let all = number_after(&output.out, "--items-in-container ");
        assert!(is_near(all), "{all}: {output:?}");
        let items = world.items(name);
        assert!((50..1_000).contains(&items.len()), "{}: {output:?}", items.len());
        let n_contoso = items.iter().filter(|item| item["customerId"] == "contoso").count();
        let share = n_contoso as f64 / items.len() as f64;
        assert!((0.65..0.95).contains(&share), "{share} for 0.8");
        drawn.push(items);
        next = output.out.lines().last().unwrap().to_owned();
    }
    assert!(next.ends_with("--sampled items"), "{next:?}");
    let advice = world.run(&next.split_whitespace().skip(1).collect::<Vec<_>>()).await;
    assert!([0, 1, 3].contains(&advice.code), "{advice:?}");
    assert!(drawn[0] == drawn[1] && drawn[0] != drawn[2], "the seed decides");

    let metrics = live(&world, &bound).await;
    assert!(is_near(metrics["itemsInContainer"].as_f64().unwrap()), "{metrics}");
    let largest = &metrics["largestPartitions"][0];
    assert_eq!(largest["key"], r#"["contoso"]"#, "{metrics}");
    // The size is that of the container, not that of the sample: most items, of about 500 bytes.
    let bytes = largest["bytes"].as_f64().unwrap();
    assert!((200.0 * 1_500.0..700.0 * 1_500.0).contains(&bytes), "{bytes}");
    assert!(metrics["unknown"].to_string().contains("are a sample of about"), "{metrics}");
    assert!(!metrics["findings"].to_string().contains("low-cardinality"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_costs_at_most_its_request_units_as_the_store_counts_them() {
    let mut orders = orders(400);
    // Items of very different sizes.
    for (n, order) in orders.iter_mut().enumerate() {
        order["x"] = "x".repeat(if n % 10 == 0 { 4_000 } else { 100 }).into();
    }
    let world = ContainerWorld::new(orders).await;
    world.charged();
    for most in [40.0, 120.0_f64] {
        for seed in ["1", "2", "3"] {
            let line = format!("--output {most}-{seed} --seed {seed} --max-request-units {most}");
            let output = world.sample(&line.split(' ').collect::<Vec<_>>()).await;
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
    let mut orders = orders(300);
    for order in &mut orders {
        order["id"] = format!("{}-x", order["id"].as_str().unwrap()).into();
    }
    let world = ContainerWorld::new(orders).await;
    let output = world.sample(&["--output", "items.jsonl", "--max-request-units", "50"]).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.err.contains("the ids end in the same character"), "{output:?}");
    assert!(world.files().is_empty(), "{:?}", world.files());
}
