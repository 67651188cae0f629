//! ETags and the conditions that callers make of them (RFC 9110, section 13.1).

use std::collections::BTreeMap;

use serde_json::Value;
use tributary_local::cosmos::{RequestKind, StoreRequest};

use super::examples::{Example, Examples};
use crate::{
    Answer, AppUnderTest, World,
    answers::{charged, is_etag},
    problems::refusal,
};

const FAILED: (u16, &str) = (412, "precondition-failed");

/// Checks the conditions that callers make at each function of an app, by the examples of the OpenAPI document.
///
/// The answer of each query has an ETag. A caller with this ETag gets 304 and no body, and a caller with another one
/// the answer. Each `PUT` and `DELETE` that takes conditions is refused, without a write, under each that does not
/// hold, such as an `If-Match` of an earlier state, and carried out under each that holds.
pub async fn are_honoured<A: AppUnderTest>() {
    let world = World::<A>::new().await;
    let mut examples = Examples::of::<A>("");
    let mut earlier = BTreeMap::new();
    let create = async |examples: &Examples, one: &Example| {
        if one.of.function.method != "PUT" || !one.of.function.signature.is_conditional {
            return one.send(&world, &[]).await;
        }
        if !examples.is_item(one) {
            let written = one.send(&world, &[]).await;
            // Such as a password: its conditions are those of the item above.
            let (above, _) = one.path.rsplit_once('/').unwrap();
            let (route, _) = one.of.function.route.rsplit_once('/').unwrap();
            if written.status.is_success() && route.ends_with('}') {
                put(&world, above, one, examples.edit(&one.of)).await;
            }
            return written;
        }
        let none = one.send(&world, &[("if-match", "\"0\"")]).await;
        let any = one.send(&world, &[("if-match", "*")]).await;
        let created = one.send(&world, &[("if-none-match", "*")]).await;
        if created.status.is_success() {
            for refused in [none, any, one.send(&world, &[("if-none-match", "*")]).await] {
                refusal::<A>(one.of.function.name, &refused, FAILED);
            }
            assert_eq!(created.header("etag"), etag(&world, &one.path).await);
            earlier.insert(one.path.clone(), created.header("etag").to_owned());
            put(&world, &one.path, one, examples.edit(&one.of)).await;
        }
        created
    };
    examples.create(&world, create).await;
    world.settle().await;
    let read = async |_: &Examples, one: &Example| {
        let answer = one.send(&world, &[]).await;
        if answer.status == 200 {
            get(&world, &one.path).await;
        }
        answer
    };
    examples.read(read).await;
    examples.delete(async |_, one| delete(&world, one, earlier.get(&one.path)).await).await;
    examples.all_have_succeeded();
}

async fn get<A: AppUnderTest>(world: &World<A>, path: &str) {
    let answer = world.get(path).await;
    let current = etag(world, path).await;
    for value in [
        current.clone(),
        format!("W/{current}"),
        "*".into(),
        format!("\"0\", {current}"),
        format!("\"0\",W/{current} , \"1\""),
    ] {
        for method in ["GET", "HEAD"] {
            let known = world.call(method, path, &[("if-none-match", &value)], None).await;
            assert_eq!(known.status, 304, "{method} {path} with {value}");
            assert_eq!((known.text.as_str(), known.header("etag")), ("", current.as_str()));
            if !answer.header("x-ms-request-charge").is_empty() {
                charged(&known);
            }
        }
    }
    let twice = [("if-none-match", "\"0\""), ("if-none-match", current.as_str())];
    world.call("GET", path, &twice, None).await.expect(304);
    for value in ["\"0\"", "W/\"0\"", "\"0\", \"1\"", "", "junk"] {
        let other = world.call("GET", path, &[("if-none-match", value)], None).await;
        assert_eq!(other.expect(200).text, answer.text);
    }
}

/// Checks a PUT to what exists, as a part of the item at another path or as the item itself.
async fn put<A: AppUnderTest>(world: &World<A>, item: &str, one: &Example, edit: Option<Value>) {
    let current = etag(world, item).await;
    let put = async |header| world.call("PUT", &one.path, &[header], edit.clone()).await;
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
        refused(world, (item, &current), put(header)).await;
    }
    let listed = format!("\"0\", {current}");
    let done =
        async |header| assert!(put(header).await.status.is_success(), "{header:?} {}", one.path);
    done(("if-match", &listed)).await;
    let edited = etag(world, item).await;
    if edited != current {
        refused(world, (item, &edited), put(("if-match", &current))).await;
    }
    for header in [("if-match", edited.as_str()), ("if-match", "*"), ("if-none-match", "W/\"0\"")] {
        done(header).await;
    }
}

/// Checks a DELETE, of an item that has had an earlier ETag. Returns the answer of the one that is carried out.
async fn delete<A: AppUnderTest>(
    world: &World<A>,
    one: &Example,
    earlier: Option<&String>,
) -> Answer {
    let path = &one.path;
    if !one.of.function.signature.is_conditional || world.get(path).await.status != 200 {
        return one.send(world, &[]).await;
    }
    let current = etag(world, path).await;
    let delete = async |value: &str| one.send(world, &[("if-match", value)]).await;
    let others = ["\"0\"".to_owned(), "\"0\", \"1\"".to_owned(), format!("W/{current}")];
    for value in others.iter().chain(earlier.filter(|earlier| **earlier != current)) {
        refused(world, (path, &current), delete(value)).await;
    }
    let deleted = delete(&format!("\"0\", {current}")).await;
    // What others use stays until they are gone.
    if deleted.status.is_success() {
        for value in ["*", &current] {
            refusal::<A>(one.of.function.name, &delete(value).await, FAILED);
        }
        let read = world.call("GET", path, &[("if-none-match", "*")], None).await;
        for answer in [world.delete(path).await, read] {
            refusal::<A>(path, &answer, (404, "not-found"));
        }
    }
    deleted
}

/// Checks that a command is refused for its condition, and writes nothing.
async fn refused<A: AppUnderTest>(
    world: &World<A>,
    (item, current): (&str, &str),
    command: impl Future<Output = Answer>,
) {
    let (answer, requests) = world.requests_of(command).await;
    refusal::<A>(item, &answer, FAILED);
    // The store answers a transaction that it refuses with 207.
    let is_write = |request: &&StoreRequest| {
        let is_read = matches!(request.kind, RequestKind::Read | RequestKind::Query);
        !is_read && request.answer.as_ref().is_none_or(|answer| (200..207).contains(&answer.status))
    };
    let writes: Vec<_> = requests.iter().filter(is_write).collect();
    assert!(writes.is_empty(), "{item}: {writes:?}");
    assert_eq!(etag(world, item).await, current, "{item}");
}

/// Returns the ETag of an answer that exists.
pub async fn etag<A: AppUnderTest>(world: &World<A>, path: &str) -> String {
    let etag = world.get(path).await.expect(200).header("etag").to_owned();
    is_etag(&etag);
    etag
}
