//! Moves, edits, deletions and late deliveries in any order, at two instances, some moves cut off.

use std::collections::HashSet;

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use tributary_local::cosmos::RequestKind;

use super::shop::{label, moved, path, product};
use crate::world::World;

const CATEGORIES: [&str; 3] = ["c0", "c1", "c2"];

#[derive(Debug, Clone, Copy)]
enum Step {
    Put(usize),
    Delete(usize),
    Move(usize, usize),
    /// A move that is dropped during its next write of a kind.
    CutOff(usize, usize, bool),
    /// A delivery of a product as it was some steps before.
    Deliver(usize),
    Rename(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let c = || 0..CATEGORIES.len();
    prop_oneof![
        3 => c().prop_map(Step::Put),
        1 => c().prop_map(Step::Delete),
        4 => (c(), c()).prop_map(|(from, to)| Step::Move(from, to)),
        2 => (c(), c(), any::<bool>()).prop_map(|(from, to, late)| Step::CutOff(from, to, late)),
        3 => any::<usize>().prop_map(Step::Deliver),
        1 => c().prop_map(Step::Rename),
    ]
}

/// The numbers of created and deleted products.
#[derive(Default)]
struct Count {
    created: usize,
    deleted: usize,
}

async fn carry_out(world: &World, step: Step, seen: &[Value]) -> Count {
    let mut count = Count::default();
    match step {
        Step::Put(at) => {
            let answer = product(world, CATEGORIES[at], "p", 1, &["t"]).await;
            count.created += usize::from(answer.status == 201);
            assert!(answer.status.is_success(), "{}", answer.text);
        }
        Step::Delete(at) => {
            let answer = world.delete(&path(CATEGORIES[at], "p")).await;
            count.deleted += usize::from(answer.status == 204);
        }
        Step::Move(from, to) => {
            let answer = moved(world, CATEGORIES[from], "p", CATEGORIES[to]).await;
            assert!(matches!(answer.status.as_u16(), 200 | 404 | 409), "{}", answer.text);
        }
        Step::CutOff(from, to, late) => {
            let kind = if late { RequestKind::Replace } else { RequestKind::Create };
            let mut hold = world.endpoint.hold(kind, "product");
            let moving = moved(world, CATEGORIES[from], "p", CATEGORIES[to]).boxed();
            let arrived = hold.arrived().boxed();
            // The held request may be that of another move, which then continues.
            futures::future::select(moving, arrived).await;
        }
        Step::Deliver(n) => {
            if let Some(change) = seen.get(n % seen.len().max(1)) {
                world.deliver("ProductsIntegrity", std::slice::from_ref(change)).await.unwrap();
            }
        }
        Step::Rename(at) => {
            label(world, &format!("categories/{}", CATEGORIES[at]), "Renamed").await;
        }
    }
    count
}

async fn story(steps: &[Vec<Step>]) {
    let world = World::new().await;
    for path in CATEGORIES.map(|id| format!("categories/{id}")).iter().chain([&"tags/t".to_owned()])
    {
        label(&world, path, "Name").await.expect(201);
    }
    let other = world.second_instance().await;
    let mut seen: Vec<Value> = Vec::new();
    let mut total = Count::default();
    for together in steps {
        let instances = [&world, &other].into_iter().cycle();
        let mut running: FuturesUnordered<_> = together
            .iter()
            .zip(instances)
            .map(|(step, world)| carry_out(world, *step, &seen))
            .collect();
        while let Some(count) = running.next().await {
            total.created += count.created;
            total.deleted += count.deleted;
        }
        drop(running);
        seen.extend(world.items("product").await);
    }
    world.settle().await;
    let items = world.items("product").await;
    let live: Vec<_> = items.iter().filter(|item| item["type"] == "product").collect();
    assert!(live.iter().all(|product| product["departure"].is_null()), "{live:?}");
    let who: HashSet<_> = live.iter().map(|product| product["createdBy"].as_str()).collect();
    assert_eq!(who.len(), live.len(), "a product is there twice: {live:?}");
    assert_eq!(live.len() + total.deleted, total.created, "{live:?}");
    for product in live {
        let category = product["categoryId"].as_str().unwrap();
        let name = world.get(&format!("/api/categories/{category}")).await.expect(200).json();
        assert_eq!(product["categoryName"], name["name"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn products_that_move_are_neither_lost_nor_doubled(steps in vec(vec(step(), 1..4), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(story(&steps));
    }
}
