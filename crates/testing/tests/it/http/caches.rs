//! What answers say to caches, which know an answer by its URL. The check `access_by_caller` has each function.

use tributary_testing::problems::problem;

use crate::given;

const LIST: &str = "/api/newest-rooms";

#[tokio::test]
async fn a_refusal_and_an_answer_that_is_behind_are_kept_as_the_callers_of_the_function_allow() {
    let world = given::rooms().await;
    world.settle().await;
    for (method, path, status, rule) in [
        ("GET", "/api/rooms/none", 404, "no-cache"),
        ("GET", "/api/newest-rooms?limit=0", 400, "no-cache"),
        ("GET", "/api/dead-letters/none", 404, "no-store"),
        ("PUT", LIST, 405, "no-store"),
        ("GET", "/api/nothing", 404, "no-store"),
    ] {
        let answer = world.call(method, path, &[("if-none-match", "*")], None).await;
        problem(&answer, status);
        assert_eq!(answer.header("cache-control"), rule, "{method} {path}");
    }
    let edited = given::titled(&world, "r1", "ann", "Edited").await.expect(200);
    let headers = [("consistency-token", edited.header("consistency-token")), ("prefer", "wait=0")];
    let behind = world.call("GET", LIST, &headers, None).await.expect(200);
    let said = (behind.header("copies-behind"), behind.header("cache-control"));
    assert_eq!(said, ("?1", "no-store"));
}
