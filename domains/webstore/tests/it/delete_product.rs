//! `DELETE /categories/{categoryId}/products/{productId}`.

use tributary_local::cosmos::{Fault, RequestKind::Replace};

use super::shop::{self, item, path, product};
use crate::expect::problem;

#[tokio::test]
async fn a_deleted_product_is_gone_and_its_id_can_be_used_again() {
    let world = shop::shop().await;
    let bike = path("bikes", "b1");
    problem(&world.call("DELETE", &bike, &[("if-match", "\"x\"")], None).await, 412);
    let requests_before = world.endpoint.request_count();
    world.delete(&bike).await.expect(204);
    assert_eq!(world.endpoint.request_count() - requests_before, 2);
    problem(&world.get(&bike).await, 404);
    problem(&world.delete(&bike).await, 404);
    problem(&world.call("DELETE", &bike, &[("if-match", "*")], None).await, 412);
    problem(&shop::moved(&world, "bikes", "b1", "parts").await, 404);
    product(&world, "bikes", "b1", 7, &[]).await.expect(201);
    assert_eq!(item(&world, "product", "bikes", "b1").await["version"], 3);
}

#[tokio::test]
async fn a_repeated_delete_deletes_no_newer_product() {
    let world = shop::shop().await;
    let bike = path("bikes", "b1");
    let invoked = [("x-azure-functions-invocationid", "1")];
    world.endpoint.inject(Fault::AnswerLost, Replace, "product", 1);
    world.call("DELETE", &bike, &invoked, None).await.expect(204);
    world.call("DELETE", &bike, &invoked, None).await.expect(204);
    product(&world, "bikes", "b1", 7, &[]).await.expect(201);
    world.second_instance().await.call("DELETE", &bike, &invoked, None).await.expect(204);
    world.get(&bike).await.expect(200);
}
