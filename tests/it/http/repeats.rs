//! Commands of the blog that the Functions host repeats: a request without a body, up to 40 times, when its
//! connection to the handler breaks, always under one invocation id.

use tributary_testing::checks::answered_as_the_first_time;

use crate::{blog as given, expect::problem};

#[tokio::test]
async fn a_command_repeated_by_the_host_is_carried_out_once_with_the_same_answer() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let like = "/api/posts/p1/likes/bob";
    let post = "/api/posts/p1";
    let comment = comment.header("location");

    answered_as_the_first_time(&world, "1", ("PUT", like), 201).await;
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
    answered_as_the_first_time(&world, "2", ("PUT", like), 200).await;
    answered_as_the_first_time(&world, "3", ("DELETE", like), 204).await;
    answered_as_the_first_time(&world, "4", ("DELETE", comment), 204).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
    // Under another invocation it is another command.
    for (invocation, path) in [("5", like), ("6", comment)] {
        problem(&world.invoke(invocation, ("DELETE", path)).await, 404);
    }

    answered_as_the_first_time(&world, "7", ("DELETE", post), 204).await;
    problem(&world.invoke("8", ("DELETE", post)).await, 404);
}
