//! Functions under the conditions of their callers.

use serde_json::{Value, json};
use tributary_testing::checks::conditions::{are_honoured, etag};

use crate::{blog as given, expect::problem, world::TestApp};

const POST: &str = "/api/posts/p1";

fn post_body() -> Value {
    json!({"userId": "ann", "title": "New", "content": "New"})
}

#[tokio::test]
async fn each_function_honours_the_conditions_that_it_takes() {
    are_honoured::<TestApp>().await;
}

#[tokio::test]
async fn a_put_to_a_deleted_post_honours_conditions() {
    let world = given::blog().await;
    let old = etag(&world, POST).await;
    world.delete(POST).await.expect(204);
    for value in ["*", &old] {
        problem(&world.call("PUT", POST, &[("if-match", value)], Some(post_body())).await, 412);
    }
    world.call("PUT", POST, &[("if-none-match", "*")], Some(post_body())).await.expect(201);
}
