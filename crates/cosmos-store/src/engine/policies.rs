//! Policies of containers for vectors: what the service refuses, in its words.

use cosmos_model::partitioning::path::PropertyPath;
use serde_json::{Map, Value};

use crate::{Refusal, Result};

const MAX_DIMENSIONS: i64 = 4096;

fn refused<T>(text: impl Into<String>) -> Result<T> {
    Err(Refusal::new(400, text))
}

fn list<'a>(definition: &'a Map<String, Value>, policy: &str, name: &str) -> &'a [Value] {
    definition.get(policy).and_then(|policy| policy[name].as_array()).map_or(&[], Vec::as_slice)
}

/// Returns a text as it is, and anything else as JSON.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn one_of(value: &Value, allowed: &[&str]) -> bool {
    value.as_str().is_some_and(|value| allowed.iter().any(|one| value.eq_ignore_ascii_case(one)))
}

fn is_path(path: &Value) -> bool {
    path.as_str().is_some_and(|path| path.parse::<PropertyPath>().is_ok())
}

/// Checks the vectors of a definition and their indexes.
pub(super) fn check(definition: &Map<String, Value>) -> Result<()> {
    let vectors = list(definition, "vectorEmbeddingPolicy", "vectorEmbeddings");
    vectors.iter().try_for_each(vector)?;
    for index in list(definition, "indexingPolicy", "vectorIndexes") {
        vector_index(index)?;
        if !vectors.iter().any(|vector| vector["path"] == index["path"]) {
            let path = words(&index["path"]);
            return refused(format!(
                "The Vector Indexing Policy's path::{path} not matching in Embedding's path."
            ));
        }
    }
    Ok(())
}

fn vector(vector: &Value) -> Result<()> {
    let is_type = |value: &Value| one_of(value, &["float32", "float16", "int8", "uint8"]);
    let is_distance = |value: &Value| one_of(value, &["cosine", "dotproduct", "euclidean"]);
    let checks: [(_, _, &dyn Fn(&Value) -> bool); 3] = [
        ("Path", "path", &is_path),
        ("DataType", "dataType", &is_type),
        ("DistanceFunction", "distanceFunction", &is_distance),
    ];
    for (title, name, is_valid) in checks {
        let value = &vector[name];
        if !is_valid(value) {
            let value = words(value);
            return refused(format!("The Vector Embedding Policy has an invalid {title}:{value}."));
        }
    }
    let dimensions = &vector["dimensions"];
    let rule = match dimensions.as_i64() {
        Some(1..=MAX_DIMENSIONS) => return Ok(()),
        Some(dimensions) if dimensions > MAX_DIMENSIONS => {
            format!("more than the maximum supported value {MAX_DIMENSIONS}")
        }
        _ => "no positive integer".to_owned(),
    };
    refused(format!("The Vector Embedding Policy has Dimensions:{dimensions} which is {rule}."))
}

fn vector_index(index: &Value) -> Result<()> {
    if !one_of(&index["type"], &["flat", "quantizedFlat", "diskANN"]) {
        let kind = words(&index["type"]);
        return refused(format!("The Vector Indexing Policy's Index Type::{kind} is invalid."));
    }
    for (name, title, least, most) in [
        ("quantizationByteSize", "QuantizationByteSize", 1, 256),
        ("indexingSearchListSize", "IndexingSearchListSize", 25, 500),
    ] {
        let value = &index[name];
        if !value.is_null() && value.as_i64().is_none_or(|value| !(least..=most).contains(&value)) {
            return refused(format!(
                "The Vector Indexing Policy parameter {title} value :: {value} is out of range. The allowed range is between {least} and {most}."
            ));
        }
    }
    let paths = match &index["vectorIndexShardKey"] {
        Value::Null => return Ok(()),
        Value::Array(paths) => paths,
        _ => {
            return refused(
                "One of the specified inputs is invalid: vectorIndexShardKey is an array.",
            );
        }
    };
    if paths.len() > 1 {
        let n_paths = paths.len();
        return refused(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {n_paths} exceeds the maximum: 1."
        ));
    }
    match paths.iter().find(|path| !is_path(path)) {
        Some(path) => {
            let path = words(path);
            refused(format!("The Vector Indexing Policy has an invalid Shard Path: {path}."))
        }
        None => Ok(()),
    }
}

/// Checks that a new definition keeps the vectors and their indexes that the old one has.
pub(super) fn check_replacement(old: &Map<String, Value>, new: &Map<String, Value>) -> Result<()> {
    for (policy, name, words) in [
        ("vectorEmbeddingPolicy", "vectorEmbeddings", "embedding policy"),
        ("indexingPolicy", "vectorIndexes", "vector indexing policy"),
    ] {
        let kept = list(new, policy, name);
        if list(old, policy, name).iter().any(|one| !kept.contains(one)) {
            let text = "cannot be modified in Collection Replace";
            return refused(format!("Paths in existing {words} {text}"));
        }
    }
    Ok(())
}
