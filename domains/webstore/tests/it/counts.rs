//! `salesOrderCount` always equals the number of orders.

use futures::future::join_all;
use proptest::{collection::vec, prelude::*};
use tokio::runtime::Runtime;
use tributary_local::cosmos::{Fault, RequestKind};

use super::given::{self, counts, line};
use crate::world::World;

#[derive(Debug, Clone)]
enum Step {
    Order {
        customer: bool,
        second: bool,
    },
    /// An order under a key, which is the same whenever it comes.
    OrderOnce {
        customer: bool,
        key: u8,
        second: bool,
    },
    /// One of the orders that there have been, which may be deleted already.
    Delete {
        order: prop::sample::Index,
        second: bool,
    },
    Edit {
        customer: bool,
    },
    LoseAnAnswer,
    LoseARace,
}

fn step() -> impl Strategy<Value = Step> {
    let bools = || (any::<bool>(), any::<bool>());
    prop_oneof![
        4 => bools().prop_map(|(customer, second)| Step::Order { customer, second }),
        2 => (bools(), 0..3_u8)
            .prop_map(|((customer, second), key)| Step::OrderOnce { customer, key, second }),
        4 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(order, second)| Step::Delete { order, second }),
        1 => any::<bool>().prop_map(|customer| Step::Edit { customer }),
        1 => Just(Step::LoseAnAnswer),
        1 => Just(Step::LoseARace),
    ]
}

fn name(customer: bool) -> &'static str {
    if customer { "ann" } else { "bob" }
}

/// Takes a step, and returns the path of the order that it has created.
async fn take(worlds: &[World; 2], step: Step, orders: &[String]) -> Option<String> {
    let world = |second| &worlds[usize::from(second)];
    match step {
        Step::Order { customer, second } => {
            let order = given::order(world(second), name(customer)).await.expect(201);
            Some(order.header("location").to_owned())
        }
        Step::OrderOnce { customer, key, second } => {
            let lines = [line("c1", "p1", 1)];
            let key = format!("k{key}");
            let customer = name(customer);
            let order = given::order_once(world(second), &key, customer, &lines).await;
            // The order of this key may have been deleted, and stays so.
            assert!(matches!(order.status.as_u16(), 201 | 409), "{order:?}");
            Some(order.header("location").to_owned()).filter(|location| !location.is_empty())
        }
        Step::Delete { order, second } => {
            let path = orders.get(order.index(orders.len().max(1)))?;
            let status = world(second).delete(path).await.status.as_u16();
            assert!(matches!(status, 204 | 404), "{status}");
            None
        }
        Step::Edit { customer } => {
            let id = name(customer);
            let details = given::details(&format!("{id} {}", orders.len()));
            worlds[0].put(&format!("/api/customers/{id}"), details).await;
            None
        }
        Step::LoseAnAnswer => {
            worlds[0].endpoint.inject(Fault::AnswerLost, RequestKind::Batch, "customer", 1);
            None
        }
        Step::LoseARace => {
            worlds[0].endpoint.inject(Fault::Refused(412), RequestKind::Batch, "customer", 1);
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Each group of steps is taken at once, through two instances.
    #[test]
    fn a_customer_has_as_many_orders_as_it_says_in_any_interleaving(
        groups in vec(vec(step(), 1..8), 1..6),
    ) {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let first = given::shop().await;
            let worlds = [first.clone(), first.second_instance().await];
            let mut orders: Vec<String> = Vec::new();
            for group in groups {
                let steps = group.into_iter().map(|step| take(&worlds, step, &orders));
                let made: Vec<String> = join_all(steps).await.into_iter().flatten().collect();
                orders.extend(made);
                for customer in ["ann", "bob"] {
                    let (count, listed) = counts(&first, customer).await;
                    assert_eq!(count, listed, "{customer}");
                }
            }
        });
    }
}
