//! Checks of the framework's promises for the functions of this app.

use serde_json::json;
use tributary_testing::checks::{self, RepeatableCommand, conditions, openapi::OpenApiDocument};

use crate::{App, World};

const NOTE: &str = "/api/owners/ann/notes/n1";

#[tokio::test]
async fn every_function_refuses_bad_requests_without_a_store_request() {
    checks::bad_requests_are_refused(&World::new().await).await;
}

#[tokio::test]
async fn each_function_is_for_the_callers_in_its_line() {
    checks::access_by_caller::<App>().await;
}

#[tokio::test]
async fn no_answer_and_no_copy_has_a_secret() {
    checks::secrets_stay_inside::<App>().await;
}

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    checks::send_examples(&world).await;
    checks::indexes::every_query_has_an_index(&world);
}

#[test]
fn the_openapi_document_says_what_each_function_takes_and_answers() {
    OpenApiDocument::of::<App>().has_every_function::<App>();
}

#[tokio::test]
async fn a_note_is_put_read_and_deleted_under_the_conditions_of_its_callers() {
    let world = World::new().await;
    let body = Some(json!({"text": "Buy bread"}));
    conditions::put_to_absent(&world, NOTE, body.clone()).await;
    conditions::get(&world, NOTE).await;
    conditions::put_to_existing(&world, NOTE, body).await;
    conditions::delete(&world, NOTE).await;
}

#[tokio::test]
async fn a_delete_that_the_host_repeats_is_carried_out_once() {
    let world = World::new().await;
    world.put(NOTE, json!({"text": "Buy bread"})).await.expect(201);
    checks::answered_as_the_first_time(&world, "an-invocation", ("DELETE", NOTE), 204).await;
    world.delete(NOTE).await.expect(404);
}

#[tokio::test]
async fn a_put_that_reaches_its_budget_anywhere_is_a_503_and_can_be_repeated() {
    let body = Some(json!({"text": "Buy bread"}));
    let put = RepeatableCommand { method: "PUT", path: NOTE, body, result: NOTE };
    checks::budget_spent_anywhere(World::new, &put, &[]).await;
}
