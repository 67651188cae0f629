//! The leaderboard under deliveries that come late, twice, in any order, to two instances.

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{given, leaderboard::ranking};
use crate::world::World;

#[derive(Debug, Clone)]
enum Step {
    Order {
        customer: u8,
    },
    DeleteAnOrder {
        customer: u8,
    },
    Edit {
        customer: u8,
    },
    /// A delivery of some of all former versions.
    Deliver {
        versions: Vec<prop::sample::Index>,
        second: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_u8).prop_map(|customer| Step::Order { customer }),
        1 => (0..3_u8).prop_map(|customer| Step::DeleteAnOrder { customer }),
        1 => (0..3_u8).prop_map(|customer| Step::Edit { customer }),
        3 => (vec(any::<prop::sample::Index>(), 1..6), any::<bool>())
            .prop_map(|(versions, second)| Step::Deliver { versions, second }),
    ]
}

async fn take(worlds: &[World; 2], step: Step, history: &[Value], n: usize) {
    let [world, _] = worlds;
    match step {
        Step::Order { customer } => {
            given::order(world, &format!("u{customer}")).await.expect(201);
        }
        Step::DeleteAnOrder { customer } => {
            let path = format!("/api/customers/u{customer}/orders");
            if let Some(order) = world.list(&path).await.first() {
                let path = format!("{path}/{}", order["id"].as_str().unwrap());
                world.delete(&path).await.expect(204);
            }
        }
        Step::Edit { customer } => {
            let path = format!("/api/customers/u{customer}");
            world.put(&path, given::details(&format!("edited {n}"))).await.expect(200);
        }
        Step::Deliver { versions, second } => {
            let batch: Vec<_> = versions.iter().map(|one| one.get(history).clone()).collect();
            worlds[usize::from(second)].deliver("Leaderboard", &batch).await.unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn the_leaderboard_ends_as_the_customers_are(steps in vec(step(), 1..25)) {
        Runtime::new().unwrap().block_on(async {
            let world = given::shop().await;
            for customer in 0..3 {
                given::customer(&world, &format!("u{customer}")).await.expect(201);
            }
            let worlds = [world.clone(), world.second_instance().await];
            let mut history = Vec::<Value>::new();
            for (n, step) in steps.into_iter().enumerate() {
                for item in world.items("customer").await {
                    if !history.iter().any(|known| known["_etag"] == item["_etag"]) {
                        history.push(item);
                    }
                }
                take(&worlds, step, &history, n).await;
            }
            world.settle().await;
            // The next deliveries are late.
            history.reverse();
            worlds[1].deliver("Leaderboard", &history).await.unwrap();
            assert_eq!(ranking(&world, "leaderboard").await, ranking(&world, "query").await);
            let path = "/api/reports/top-customers?source=";
            let [copies, customers] = ["leaderboard", "query"].map(|source| format!("{path}{source}"));
            let copies = world.get(&copies).await.expect(200).json();
            assert_eq!(copies, world.get(&customers).await.expect(200).json());
        });
    }
}
