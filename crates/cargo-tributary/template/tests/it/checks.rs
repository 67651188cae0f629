//! Checks of the framework's promises for the functions of this app.

use tributary_testing::checks::{self, openapi::OpenApiDocument};

use crate::{App, World};

#[tokio::test]
async fn every_function_refuses_bad_requests_without_a_store_request() {
    checks::bad_requests_are_refused(&World::new().await).await;
}

#[tokio::test]
async fn each_function_honours_the_conditions_that_it_takes() {
    checks::conditions::are_honoured::<App>().await;
}

#[tokio::test]
async fn no_request_is_refused_for_the_state_of_a_stale_replica() {
    checks::stale_replicas_refuse_nothing::<App>().await;
}

#[tokio::test]
async fn each_function_is_for_the_callers_in_its_line() {
    checks::access_by_caller::<App>().await;
}

#[tokio::test]
async fn no_answer_and_no_copy_has_a_secret() {
    checks::secrets_stay_inside::<App>().await;
}

#[test]
fn the_openapi_document_says_what_each_function_takes_and_answers() {
    OpenApiDocument::of::<App>().has_every_function::<App>();
}
