//! Policies of containers for vectors and full text: what the service refuses, in its words.

use cosmos_model::partitioning::path::PropertyPath;
use serde_json::{Map, Value};

use crate::{Refusal, Result};

/// The languages of full text that the service knows.
const LANGUAGES: [&str; 7] = ["en-US", "fr-FR", "de-DE", "it-IT", "pt-BR", "pt-PT", "es-ES"];

const MAX_DIMENSIONS: i64 = 4096;

fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Refusal::new(400, text())) }
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

/// Checks the policies of a definition for vectors and full text.
pub(super) fn check(definition: &Map<String, Value>) -> Result<()> {
    let vectors = list(definition, "vectorEmbeddingPolicy", "vectorEmbeddings");
    vectors.iter().try_for_each(vector)?;
    for index in list(definition, "indexingPolicy", "vectorIndexes") {
        vector_index(index)?;
        let path = &index["path"];
        ensure(vectors.iter().any(|vector| vector["path"] == *path), || {
            let path = words(path);
            format!("The Vector Indexing Policy's path::{path} not matching in Embedding's path.")
        })?;
    }
    full_text(definition)
}

fn vector(vector: &Value) -> Result<()> {
    const TYPES: [&str; 4] = ["float32", "float16", "int8", "uint8"];
    const DISTANCES: [&str; 3] = ["cosine", "dotproduct", "euclidean"];
    for (title, name, is_valid) in [
        ("Path", "path", is_path as fn(&Value) -> bool),
        ("DataType", "dataType", |value| one_of(value, &TYPES)),
        ("DistanceFunction", "distanceFunction", |value| one_of(value, &DISTANCES)),
    ] {
        let value = &vector[name];
        ensure(is_valid(value), || {
            format!("The Vector Embedding Policy has an invalid {title}:{}.", words(value))
        })?;
    }
    let dimensions = &vector["dimensions"];
    let number = dimensions.as_i64();
    ensure(matches!(number, Some(1..=MAX_DIMENSIONS)), || {
        let rule = match number {
            Some(1..) => format!("more than the maximum supported value {MAX_DIMENSIONS}"),
            _ => "no positive integer".to_owned(),
        };
        format!("The Vector Embedding Policy has Dimensions:{dimensions} which is {rule}.")
    })
}

fn vector_index(index: &Value) -> Result<()> {
    let kind = &index["type"];
    ensure(one_of(kind, &["flat", "quantizedFlat", "diskANN"]), || {
        format!("The Vector Indexing Policy's Index Type::{} is invalid.", words(kind))
    })?;
    for (name, title, range) in [
        ("quantizationByteSize", "QuantizationByteSize", 1..=256),
        ("indexingSearchListSize", "IndexingSearchListSize", 25..=500),
    ] {
        let value = &index[name];
        let is_within = value.as_i64().is_some_and(|value| range.contains(&value));
        ensure(value.is_null() || is_within, || {
            let (least, most) = range.into_inner();
            format!(
                "The Vector Indexing Policy parameter {title} value :: {value} is out of range. The allowed range is between {least} and {most}."
            )
        })?;
    }
    let paths = match &index["vectorIndexShardKey"] {
        Value::Array(paths) => paths.as_slice(),
        shard_key => {
            let text = "One of the specified inputs is invalid: vectorIndexShardKey is an array.";
            return ensure(shard_key.is_null(), || text.to_owned());
        }
    };
    let n_paths = paths.len();
    ensure(n_paths <= 1, || {
        format!(
            "The number of shard paths defined in the Vector Indexing Policy: {n_paths} exceeds the maximum: 1."
        )
    })?;
    paths.iter().try_for_each(|path| {
        ensure(is_path(path), || {
            format!("The Vector Indexing Policy has an invalid Shard Path: {}.", words(path))
        })
    })
}

fn full_text(definition: &Map<String, Value>) -> Result<()> {
    let paths = list(definition, "fullTextPolicy", "fullTextPaths");
    let default = definition.get("fullTextPolicy").map(|policy| &policy["defaultLanguage"]);
    for language in paths.iter().map(|path| &path["language"]).chain(default) {
        ensure(language.is_null() || one_of(language, &LANGUAGES), || {
            let language = words(language);
            format!(
                "The Full Text Policy contains an unsupported language {language}. Supported languages are: {LANGUAGES:?}"
            )
        })?;
    }
    for path in paths.iter().map(|path| &path["path"]) {
        ensure(is_path(path), || {
            format!("The Full Text Policy contains an invalid Path: {}", words(path))
        })?;
    }
    for (place, index) in list(definition, "indexingPolicy", "fullTextIndexes").iter().enumerate() {
        let path = &index["path"];
        let at = format!("index specification at index ({place})");
        ensure(!path.is_null(), || format!("Missing path in full-text {at}"))?;
        ensure(is_path(path), || format!("Full-text {at} contains invalid path"))?;
        ensure(paths.iter().any(|one| one["path"] == *path), || {
            let path = words(path);
            format!(
                "The path of the Full Text Index {path} does not match the path specified in the Full Text Policy"
            )
        })?;
    }
    Ok(())
}

/// Checks that a new definition keeps the vectors and their indexes that the old one has.
pub(super) fn check_replacement(old: &Map<String, Value>, new: &Map<String, Value>) -> Result<()> {
    for (policy, name, words) in [
        ("vectorEmbeddingPolicy", "vectorEmbeddings", "embedding policy"),
        ("indexingPolicy", "vectorIndexes", "vector indexing policy"),
    ] {
        let kept = list(new, policy, name);
        ensure(list(old, policy, name).iter().all(|one| kept.contains(one)), || {
            format!("Paths in existing {words} cannot be modified in Collection Replace")
        })?;
    }
    Ok(())
}
