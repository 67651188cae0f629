//! Requests that the Functions host repeats: without a body, up to 40 times, when its connection to the
//! handler breaks, always under one invocation id.

use tributary_testing::{checks::answered_as_the_first_time, problems::problem};

use crate::given::{self, deliver};

#[tokio::test]
async fn a_replay_or_delete_of_a_dead_letter_that_is_repeated_is_answered_as_the_first_time() {
    for (method, path, status) in [("POST", "/replay", 200), ("DELETE", "", 204)] {
        let world = given::rooms().await;
        let bad = given::bad_room("bad");
        world.write_item("rooms", &bad).await;
        deliver(&world, "RoomCopies", &bad).await;
        let dead_letter = world.list("/api/dead-letters").await.remove(0);
        world.delete_item("rooms", "bad", "bad").await;
        let path = format!("{}{path}", given::path(&dead_letter));
        answered_as_the_first_time(&world, "1", (method, &path), status).await;
        assert!(world.list("/api/dead-letters").await.is_empty());
        problem(&world.invoke("2", (method, &path)).await, 404);

        // The change fails anew, and the repeated first command leaves its dead letter alone.
        deliver(&world, "RoomCopies", &bad).await;
        world.invoke("1", (method, &path)).await.expect(status);
        assert_eq!(world.list("/api/dead-letters").await.len(), 1);
        assert_eq!(world.list("/api/dead-letters").await[0]["id"], dead_letter["id"]);
    }
}
