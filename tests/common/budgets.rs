//! Budgets of requests in the documents of this repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tributary_testing::{AppUnderTest, budget};

use super::openapi;
use crate::world::{TestApp, World};

/// Holds a request against its budget, and its answer against the OpenAPI document.
pub(crate) async fn budget(
    world: &World,
    (method, path, body): (&str, &str, Option<Value>),
    expected: &str,
) {
    let answer = budget::budget(world, (method, path, body), expected).await;
    openapi::check(method, path, &answer);
}

/// Holds requests against a table of a document, and their answers against the OpenAPI document.
pub(crate) async fn budget_table(
    world: &World,
    of: &str,
    requests: impl IntoIterator<Item = (&str, &str, String, Option<Value>)>,
    document: &str,
) {
    let requests: Vec<_> = requests.into_iter().collect();
    let answers = budget::budget_table(world, of, requests.clone(), document).await;
    for ((method, _, path, _), answer) in requests.iter().zip(&answers) {
        openapi::check(method, path, answer);
    }
}

pub(crate) fn document(of: &str) -> String {
    fs::read_to_string(path(of)).unwrap()
}

pub(crate) fn path(document: &str) -> PathBuf {
    Path::new(TestApp::ROOT).join(document)
}
