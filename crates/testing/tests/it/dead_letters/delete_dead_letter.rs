use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Read},
};

use super::{letters, path, world_with_letter};
use tributary_testing::problems::problem;

#[tokio::test]
async fn it_is_gone_and_a_second_time_it_is_a_404() {
    let (world, letter) = world_with_letter("RoomCounts").await;
    world.delete(&path(&letter)).await.expect(204);
    assert!(letters(&world).await.is_empty());
    problem(&world.delete(&path(&letter)).await, 404);
    problem(&world.delete("/api/dead-letters/no").await, 404);
}

#[tokio::test]
async fn only_in_the_state_that_the_caller_has_seen() {
    let (world, letter) = world_with_letter("RoomCounts").await;
    let path = path(&letter);
    let etag = world.get(&path).await.expect(200).header("etag").to_owned();
    // It fails once more.
    world.deliver("RoomCounts", &world.items("rooms").await).await.unwrap();
    problem(&world.call("DELETE", &path, &[("if-match", &etag)], None).await, 412);
    let etag = world.get(&path).await.expect(200).header("etag").to_owned();
    world.call("DELETE", &path, &[("if-match", &etag)], None).await.expect(204);
    problem(&world.call("DELETE", &path, &[("if-match", "*")], None).await, 412);
}

#[tokio::test]
async fn with_a_lost_answer_it_is_deleted_all_the_same() {
    let (world, letter) = world_with_letter("RoomCounts").await;
    world.endpoint.inject(Fault::AnswerLost, Batch, "dead-letters", 1);
    world.delete(&path(&letter)).await.expect(204);
    problem(&world.delete(&path(&letter)).await, 404);
    world.endpoint.inject(Fault::Refused(503), Read, "dead-letters", 1_000);
    problem(&world.delete(&path(&letter)).await, 503);
}
