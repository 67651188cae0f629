use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Read},
};

use super::world_with_dead_letter;
use crate::given::path;
use tributary_testing::problems::problem;

#[tokio::test]
async fn a_delete_whose_answer_is_lost_succeeds() {
    let (world, dead_letter) = world_with_dead_letter("RoomCounts").await;
    world.endpoint.inject(Fault::AnswerLost, Batch, "dead-letters", 1);
    world.delete(&path(&dead_letter)).await.expect(204);
    problem(&world.delete(&path(&dead_letter)).await, 404);
    world.endpoint.inject(Fault::Refused(503), Read, "dead-letters", 1_000);
    problem(&world.delete(&path(&dead_letter)).await, 503);
}
