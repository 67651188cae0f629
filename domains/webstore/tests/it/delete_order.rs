use tributary_local::cosmos::{Fault, RequestKind::Batch};

use super::given::{self, counts, line};
use crate::expect::problem;

#[tokio::test]
async fn a_deleted_order_is_gone_and_not_counted() {
    let world = given::shop().await;
    let first = given::order(&world, "ann").await.expect(201);
    given::order_of(&world, "ann", &[line("c2", "p1", 1)]).await.expect(201);
    let requests_before = world.endpoint.request_count();
    let answer = world.delete(first.header("location")).await.expect(204);
    assert_eq!(
        (answer.text.as_str(), world.endpoint.requests_since(requests_before).len()),
        ("", 2)
    );
    problem(&world.get(first.header("location")).await, 404);
    problem(&world.delete(first.header("location")).await, 404);
    assert_eq!(counts(&world, "ann").await, (1, 1));
}

#[tokio::test]
async fn an_item_that_is_no_order_is_not_deleted() {
    let world = given::shop().await;
    for path in ["ann/orders/none", "eve/orders/none", "ann/orders/ann"] {
        problem(&world.delete(&format!("/api/customers/{path}")).await, 404);
        problem(&world.get(&format!("/api/customers/{path}")).await, 404);
    }
    let bobs = given::order(&world, "bob").await.expect(201);
    let path = bobs.header("location").replace("bob", "ann");
    problem(&world.delete(&path).await, 404);
    assert_eq!(counts(&world, "bob").await, (1, 1));
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_succeeds() {
    for (headers, lost) in [(&[][..], 1), (&[][..], 2), (&[("if-match", "*")][..], 1)] {
        let world = given::shop().await;
        let order = given::order(&world, "ann").await.expect(201);
        world.endpoint.inject(Fault::AnswerLost, Batch, "customer", lost);
        world.call("DELETE", order.header("location"), headers, None).await.expect(204);
        assert_eq!(counts(&world, "ann").await, (0, 0));
    }
}
