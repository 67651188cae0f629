//! Policies of containers for vectors and full text: what the service refuses, in its words.

use cosmos_model::partitioning::path::PropertyPath;
use serde_json::{Map, Value};

use crate::Refusal;

/// The languages of full text that the service knows.
const LANGUAGES: [&str; 7] = ["en-US", "fr-FR", "de-DE", "it-IT", "pt-BR", "pt-PT", "es-ES"];

/// The most dimensions of a vector.
const MAX_DIMENSIONS: i64 = 4096;

fn refused<T>(text: impl Into<String>) -> Result<T, Refusal> {
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

/// Checks the policies of a definition for vectors and full text.
pub(super) fn check(definition: &Map<String, Value>) -> Result<(), Refusal> {
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
    full_text(definition)
}

fn vector(vector: &Value) -> Result<(), Refusal> {
    let named = |name: &str, value: &Value| {
        refused(format!("The Vector Embedding Policy has an invalid {name}:{}.", words(value)))
    };
    if !is_path(&vector["path"]) {
        return named("Path", &vector["path"]);
    }
    if !one_of(&vector["dataType"], &["float32", "float16", "int8", "uint8"]) {
        return named("DataType", &vector["dataType"]);
    }
    if !one_of(&vector["distanceFunction"], &["cosine", "dotproduct", "euclidean"]) {
        return named("DistanceFunction", &vector["distanceFunction"]);
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

fn vector_index(index: &Value) -> Result<(), Refusal> {
    if !one_of(&index["type"], &["flat", "quantizedFlat", "diskANN"]) {
        let kind = words(&index["type"]);
        return refused(format!("The Vector Indexing Policy's Index Type::{kind} is invalid."));
    }
    for (name, least, most) in
        [("quantizationByteSize", 1, 256), ("indexingSearchListSize", 25, 500)]
    {
        let value = &index[name];
        if !value.is_null() && value.as_i64().is_none_or(|value| !(least..=most).contains(&value)) {
            let name = [&name[..1].to_uppercase(), &name[1..]].concat();
            return refused(format!(
                "The Vector Indexing Policy parameter {name} value :: {value} is out of range. The allowed range is between {least} and {most}."
            ));
        }
    }
    match &index["vectorIndexShardKey"] {
        Value::Null => Ok(()),
        Value::Array(paths) if paths.len() > 1 => refused(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {} exceeds the maximum: 1.",
            paths.len()
        )),
        Value::Array(paths) => match paths.iter().find(|path| !is_path(path)) {
            Some(path) => refused(format!(
                "The Vector Indexing Policy has an invalid Shard Path: {}.",
                words(path)
            )),
            None => Ok(()),
        },
        _ => refused("One of the specified inputs is invalid: vectorIndexShardKey is an array."),
    }
}

fn full_text(definition: &Map<String, Value>) -> Result<(), Refusal> {
    let paths = list(definition, "fullTextPolicy", "fullTextPaths");
    let default = definition.get("fullTextPolicy").map(|policy| &policy["defaultLanguage"]);
    for language in paths.iter().map(|path| &path["language"]).chain(default) {
        if !language.is_null() && !one_of(language, &LANGUAGES) {
            let language = words(language);
            return refused(format!(
                "The Full Text Policy contains an unsupported language {language}. Supported languages are: {LANGUAGES:?}"
            ));
        }
    }
    if let Some(path) = paths.iter().map(|path| &path["path"]).find(|path| !is_path(path)) {
        return refused(format!("The Full Text Policy contains an invalid Path: {}", words(path)));
    }
    for (place, index) in list(definition, "indexingPolicy", "fullTextIndexes").iter().enumerate() {
        let path = &index["path"];
        if path.is_null() {
            return refused(format!(
                "Missing path in full-text index specification at index ({place})"
            ));
        }
        if !is_path(path) {
            return refused(format!(
                "Full-text index specification at index ({place}) contains invalid path"
            ));
        }
        if !paths.iter().any(|one| one["path"] == *path) {
            let path = words(path);
            return refused(format!(
                "The path of the Full Text Index {path} does not match the path specified in the Full Text Policy"
            ));
        }
    }
    Ok(())
}

/// Checks that a new definition keeps the vectors and their indexes that the old one has.
pub(super) fn check_replacement(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<(), Refusal> {
    for (policy, name, words) in [
        ("vectorEmbeddingPolicy", "vectorEmbeddings", "embedding policy"),
        ("indexingPolicy", "vectorIndexes", "vector indexing policy"),
    ] {
        let kept = list(new, policy, name);
        if list(old, policy, name).iter().any(|one| !kept.contains(one)) {
            return refused(format!(
                "Paths in existing {words} cannot be modified in Collection Replace"
            ));
        }
    }
    Ok(())
}
