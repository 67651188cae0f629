//! ETags and the conditions that callers make of them (RFC 9110, section 13.1).

use serde_json::Value;

use crate::{
    AppUnderTest, World,
    answers::{charged, is_etag},
    problems::problem,
};

/// Checks that a GET of an item has an ETag, that a caller with this ETag gets 304 and no body, and that a
/// caller with another one gets the item.
pub async fn get<A: AppUnderTest>(world: &World<A>, path: &str) {
    let current = etag(world, path).await;
    for value in [
        current.clone(),
        format!("W/{current}"),
        "*".into(),
        format!("\"0\", {current}"),
        format!("\"0\",W/{current} , \"1\""),
    ] {
        let answer = world.call("GET", path, &[("if-none-match", &value)], None).await.expect(304);
        assert_eq!((answer.text.as_str(), answer.header("etag")), ("", current.as_str()));
        charged(&answer);
    }
    let twice = [("if-none-match", "\"0\""), ("if-none-match", current.as_str())];
    world.call("GET", path, &twice, None).await.expect(304);
    for value in ["\"0\"", "W/\"0\"", "\"0\", \"1\"", "", "junk"] {
        let answer = world.call("GET", path, &[("if-none-match", value)], None).await;
        assert!(answer.expect(200).json().is_object());
    }
}

/// Checks that a PUT to an item that exists is refused, without a change, under each condition that does
/// not hold, and carried out under each that holds.
pub async fn put_to_existing<A: AppUnderTest>(world: &World<A>, path: &str, body: Option<Value>) {
    let current = etag(world, path).await;
    let put = async |header| world.call("PUT", path, &[header], body.clone()).await;
    let weak = format!("W/{current}");
    let weak_of_two = format!("\"0\", W/{current}");
    for header in [
        ("if-match", "\"0\""),
        ("if-match", "\"0\", \"1\""),
        // If-Match compares strongly, If-None-Match weakly.
        ("if-match", &weak),
        ("if-match", &weak_of_two),
        ("if-none-match", "*"),
        ("if-none-match", &current),
        ("if-none-match", &weak_of_two),
    ] {
        problem(&put(header).await, 412);
        assert_eq!(etag(world, path).await, current, "{header:?}");
    }
    let listed = format!("\"0\", {current}");
    put(("if-match", &listed)).await.expect(200);
    let current = etag(world, path).await;
    put(("if-match", &current)).await.expect(200);
    put(("if-match", "*")).await.expect(200);
    put(("if-none-match", "W/\"0\"")).await.expect(200);
}

/// Checks that a PUT to an item that does not exist is refused under each condition that demands a state,
/// and carried out once under the one that demands none.
pub async fn put_to_absent<A: AppUnderTest>(world: &World<A>, path: &str, body: Option<Value>) {
    let put = async |header| world.call("PUT", path, &[header], body.clone()).await;
    for value in ["*", "\"0\""] {
        problem(&put(("if-match", value)).await, 412);
        problem(&world.get(path).await, 404);
    }
    put(("if-none-match", "*")).await.expect(201);
    problem(&put(("if-none-match", "*")).await, 412);
}

/// Checks that a DELETE is refused, without a change, under each condition that does not hold, and carried
/// out once under one that holds.
pub async fn delete<A: AppUnderTest>(world: &World<A>, path: &str) {
    let current = etag(world, path).await;
    let delete = async |value: &str| world.call("DELETE", path, &[("if-match", value)], None).await;
    for value in ["\"0\"", "\"0\", \"1\"", &format!("W/{current}")] {
        problem(&delete(value).await, 412);
        assert_eq!(etag(world, path).await, current);
    }
    delete(&format!("\"0\", {current}")).await.expect(204);
    for value in ["*", &current] {
        problem(&delete(value).await, 412);
    }
    problem(&world.delete(path).await, 404);
}

/// Returns the ETag of an item that exists.
pub async fn etag<A: AppUnderTest>(world: &World<A>, path: &str) -> String {
    let etag = world.get(path).await.expect(200).header("etag").to_owned();
    is_etag(&etag);
    etag
}
