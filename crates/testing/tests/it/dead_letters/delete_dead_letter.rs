use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Read},
};

use super::world_with_dead_letter;
use crate::given::path;
use tributary_testing::problems::problem;

#[tokio::test]
async fn a_delete_under_a_condition_deletes_only_the_state_that_the_caller_has_seen() {
    let (world, dead_letter) = world_with_dead_letter("RoomCounts").await;
    let path = path(&dead_letter);
    let etag = world.get(&path).await.expect(200).header("etag").to_owned();
    // The change fails once more.
    world.deliver("RoomCounts", &world.items("rooms").await).await.unwrap();
    problem(&world.call("DELETE", &path, &[("if-match", &etag)], None).await, 412);
    let etag = world.get(&path).await.expect(200).header("etag").to_owned();
    world.call("DELETE", &path, &[("if-match", &etag)], None).await.expect(204);
    problem(&world.call("DELETE", &path, &[("if-match", "*")], None).await, 412);
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_succeeds() {
    let (world, dead_letter) = world_with_dead_letter("RoomCounts").await;
    world.endpoint.inject(Fault::AnswerLost, Batch, "dead-letters", 1);
    world.delete(&path(&dead_letter)).await.expect(204);
    problem(&world.delete(&path(&dead_letter)).await, 404);
    world.endpoint.inject(Fault::Refused(503), Read, "dead-letters", 1_000);
    problem(&world.delete(&path(&dead_letter)).await, 503);
}
