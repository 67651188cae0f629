//! The indexes of the rooms.

use tributary_testing::checks::{indexes::every_query_has_an_index, send_examples};

use crate::World;

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    send_examples(&world).await;
    every_query_has_an_index(&world);
}
