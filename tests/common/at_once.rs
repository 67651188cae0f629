//! Requests of many callers at once, at two instances.

use futures::future::join_all;
use serde_json::Value;

use super::expect::problem;
use crate::world::{Answer, World};

const CALLERS: usize = 6;

/// Checks that one of many `PUT`s that must create an item does so, and that the others are refused.
pub(crate) async fn one_put_creates(
    instances: &[World; 2],
    path: &str,
    body: impl Fn(usize) -> Value,
) {
    let headers = &[("if-none-match", "*")];
    let answers = at_once(instances, "PUT", path, headers, |caller| Some(body(caller))).await;
    let stored = instances[0].get(path).await.expect(200).json();
    let mut n_created = 0;
    for answer in answers {
        if answer.status == 201 {
            n_created += 1;
            assert_eq!(answer.json(), stored);
        } else {
            problem(&answer, 412);
        }
    }
    assert_eq!(n_created, 1, "{path}");
}

/// Checks that each of many `PUT`s is answered with its own value of a field, and that one of them creates
/// the item.
pub(crate) async fn each_put_is_answered_with_its_own(
    field: &str,
    instances: &[World; 2],
    path: &str,
    body: impl Fn(usize) -> Value,
) {
    let mut n_created = 0;
    let answers = at_once(instances, "PUT", path, &[], |caller| Some(body(caller))).await;
    for (caller, answer) in answers.into_iter().enumerate() {
        assert!(answer.status.is_success(), "{}", answer.text);
        assert_eq!(answer.json()[field], body(caller)[field]);
        n_created += usize::from(answer.status == 201);
    }
    assert_eq!(n_created, 1, "{path}");
}

/// Checks that one of many `DELETE`s succeeds, and that the others find nothing.
pub(crate) async fn one_delete_succeeds(instances: &[World; 2], path: &str) {
    let mut n_deleted = 0;
    for answer in at_once(instances, "DELETE", path, &[], |_| None).await {
        if answer.status == 204 {
            n_deleted += 1;
        } else {
            problem(&answer, 404);
        }
    }
    assert_eq!(n_deleted, 1, "{path}");
}

/// Sends the request of each caller at once, and returns the answers in the order of the callers.
pub(crate) async fn at_once(
    instances: &[World; 2],
    method: &'static str,
    path: &str,
    headers: &'static [(&str, &str)],
    body: impl Fn(usize) -> Option<Value>,
) -> Vec<Answer> {
    let calls = (0..CALLERS).map(|caller| {
        let instance = instances[caller % 2].clone();
        let path = path.to_owned();
        let body = body(caller);
        tokio::spawn(async move { instance.call(method, &path, headers, body).await })
    });
    join_all(calls).await.into_iter().map(Result::unwrap).collect()
}
