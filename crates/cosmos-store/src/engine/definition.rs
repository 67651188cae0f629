//! Definitions of containers: what the service refuses, and the defaults that it adds.

use cosmos_model::{charges::policy::IndexingPolicy, partitioning::path::PropertyPath};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Definition, policies};
use crate::Refusal;

/// The deepest hierarchical partition key.
const MAX_LEVELS: usize = 3;

/// The most bytes or characters of a name of a database, a container, an item.
const MAX_NAME: usize = 255;
/// The bytes of the id of an item:
/// <https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits>.
const MAX_ID: usize = 1023;

/// What a replacement must leave as it is.
const LASTING: [&str; 2] = ["partitionKey", "uniqueKeyPolicy"];

fn refused(text: impl Into<String>) -> Refusal {
    Refusal::new(400, text)
}

/// Checks the name of a database or a container.
fn check_name(name: &str) -> Result<(), Refusal> {
    check(name, name.chars().count() <= MAX_NAME, "255")
}

/// Checks the id of an item.
pub(super) fn check_id(id: &str) -> Result<(), Refusal> {
    check(id, id.len() <= MAX_ID, "1024")
}

fn check(name: &str, is_short: bool, limit: &str) -> Result<(), Refusal> {
    if is_short && !name.is_empty() && !name.contains(['/', '\\', '?', '#']) {
        return Ok(());
    }
    Err(refused(format!(
        "The input name is invalid. Ensure to provide a unique non-empty string less than '{limit}' characters. It has \
         none of / \\ ? #."
    )))
}

/// Returns the name in the body of a request.
pub(super) fn name_in(body: &Value) -> Result<&str, Refusal> {
    let name = body["id"].as_str().ok_or_else(|| {
        refused(
            "The input content is invalid because the required properties - 'id; ' - are missing",
        )
    })?;
    check_name(name)?;
    if name.ends_with(' ') {
        return Err(refused("The input name is invalid: it ends with a space."));
    }
    Ok(name)
}

/// Checks a definition and returns it with the service's defaults, without system properties.
pub(super) fn complete(given: &Value) -> Result<Map<String, Value>, Refusal> {
    name_in(given)?;
    let given = given.as_object().ok_or_else(|| refused("A definition is an object."))?;
    let mut definition: Map<_, _> = given
        .iter()
        .filter(|(name, value)| !name.starts_with('_') && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    partition_key(
        definition
            .get_mut("partitionKey")
            .ok_or_else(|| refused("The partition key is missing."))?,
    )?;
    let policy = definition.entry("indexingPolicy").or_insert_with(|| json!({}));
    indexing_policy(policy)?;
    policies::check(&definition)?;
    if let Some(ttl) = definition.get("defaultTtl").filter(|ttl| !ttl.as_i64().is_some_and(is_ttl))
    {
        return Err(bad_ttl(ttl));
    }
    unique_keys(definition.get("uniqueKeyPolicy"))?;
    let conflicts = definition.entry("conflictResolutionPolicy").or_insert_with(|| json!({}));
    let conflicts = object(conflicts, "conflictResolutionPolicy")?;
    let mode = conflicts.entry("mode").or_insert_with(|| json!("LastWriterWins"));
    let path = if mode == "Custom" { "" } else { "/_ts" };
    conflicts.retain(|_, value| !value.is_null());
    conflicts.entry("conflictResolutionPath").or_insert_with(|| json!(path));
    conflicts.entry("conflictResolutionProcedure").or_insert_with(|| json!(""));
    definition.entry("geospatialConfig").or_insert_with(|| json!({"type": "Geography"}));
    if let Some(policy) = definition.get("changeFeedPolicy") {
        let minutes = &policy["retentionDuration"];
        if !minutes.is_null()
            && minutes.as_i64().is_none_or(|minutes| !(0..=i64::from(i32::MAX)).contains(&minutes))
        {
            return Err(refused("changeFeedPolicy.retentionDuration is a number of minutes."));
        }
    }
    computed_properties(definition.get("computedProperties"))?;
    Ok(definition)
}

/// The refusal of a time to live.
pub(super) fn bad_ttl(ttl: impl std::fmt::Display) -> Refusal {
    refused(format!(
        "The input ttl '{ttl}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or the value of '-1'."
    ))
}

/// Returns true for a number of seconds, and for -1, which is never.
pub(super) fn is_ttl(ttl: i64) -> bool {
    ttl == -1 || (1..=i64::from(i32::MAX)).contains(&ttl)
}

/// Checks that a new definition keeps the partition key and the unique keys.
pub(super) fn check_replacement(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<(), Refusal> {
    if old.get("id") != new.get("id") {
        return Err(refused("The id of a container cannot be changed."));
    }
    match LASTING.iter().find(|name| old.get(**name) != new.get(**name)) {
        Some(name) => Err(refused(format!("Document collection {name} cannot be changed."))),
        None => policies::check_replacement(old, new),
    }
}

fn object<'a>(value: &'a mut Value, name: &str) -> Result<&'a mut Map<String, Value>, Refusal> {
    value.as_object_mut().ok_or_else(|| refused(format!("{name} is an object.")))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn partition_key(key: &mut Value) -> Result<(), Refusal> {
    let key = object(key, "partitionKey")?;
    key.retain(|_, value| !value.is_null());
    let kind =
        key.entry("kind").or_insert_with(|| json!("Hash")).as_str().unwrap_or_default().to_owned();
    let version = key.entry("version").or_insert_with(|| json!(2)).as_u64();
    let paths = key.get("paths").and_then(texts).unwrap_or_default();
    let most = if kind == "MultiHash" { MAX_LEVELS } else { 1 };
    if !["Hash", "MultiHash", "Range"].contains(&kind.as_str()) {
        return Err(refused(format!("The partition key kind '{kind}' is invalid.")));
    }
    if paths.is_empty() || paths.len() > most {
        let text =
            format!("Too many partition key paths, or none: the kind {kind} has 1 to {most}.");
        return Err(refused(text));
    }
    if !matches!(version, Some(1 | 2)) || kind == "MultiHash" && version != Some(2) {
        return Err(refused("The partition key version is invalid."));
    }
    for (level, path) in paths.iter().enumerate() {
        let is_good = key_path(path).is_some_and(|path| !is_system(path.names()));
        if !is_good || paths.iter().take(level).any(|other| other == path) {
            let text = format!(
                "The partition key component definition path '{path}' could not be accepted, failed near position '{level}'."
            );
            return Err(refused(text));
        }
    }
    Ok(())
}

/// Reads a path whose names may be in quotes of either kind. In single ones, every character stands for itself.
fn key_path(text: &str) -> Option<PropertyPath> {
    if !text.contains("/'") {
        return text.parse().ok();
    }
    let (mut names, mut rest) = (Vec::new(), text);
    while let Some(path) = rest.strip_prefix('/') {
        if let Some((name, after)) =
            path.strip_prefix('\'').and_then(|quoted| quoted.split_once('\''))
        {
            names.push(name.to_owned());
            rest = after;
        } else {
            let (name, after) = path.split_at(path.find('/').unwrap_or(path.len()));
            let path: PropertyPath = ["/", name].concat().parse().ok()?;
            names.extend_from_slice(path.names());
            rest = after;
        }
    }
    PropertyPath::from_names(names).filter(|_| rest.is_empty())
}

fn is_system(names: &[String]) -> bool {
    names.first().is_some_and(|name| super::record::SYSTEM_PROPERTIES.contains(&name.as_str()))
}

fn indexing_policy(policy: &mut Value) -> Result<(), Refusal> {
    let policy = object(policy, "indexingPolicy")?;
    policy.retain(|_, value| !value.is_null());
    let mode =
        policy.get("indexingMode").and_then(Value::as_str).unwrap_or("consistent").to_lowercase();
    if !["consistent", "lazy", "none"].contains(&mode.as_str()) {
        return Err(refused(format!("The indexing mode '{mode}' is invalid.")));
    }
    policy.insert("indexingMode".to_owned(), json!(mode));
    policy.entry("automatic").or_insert_with(|| json!(mode != "none"));
    for name in ["includedPaths", "excludedPaths"] {
        let paths = policy.entry(name).or_insert_with(|| json!([])).as_array_mut();
        for path in paths.ok_or_else(|| refused(format!("{name} is an array.")))? {
            let text = path["path"].as_str().unwrap_or_default();
            if text == "/" || text == "/*" {
                // The kinds of indexes on a path are of the past.
                path["path"] = json!("/*");
                path.as_object_mut().and_then(|path| path.remove("indexes"));
            } else if !text.starts_with('/') || !(text.ends_with("/?") || text.ends_with("/*")) {
                return Err(refused(format!(
                    "The indexing path '{text}' could not be accepted, failed near position '{}'. Please ensure that the path is a valid path. Common errors include invalid characters or absence of quotes around labels.",
                    text.len()
                )));
            }
        }
    }
    let has = |policy: &Map<String, Value>, name: &str, path: &str| {
        policy
            .get(name)
            .and_then(Value::as_array)
            .is_some_and(|paths| paths.iter().any(|one| one["path"] == path))
    };
    if mode != "none" {
        if !has(policy, "includedPaths", "/*") && !has(policy, "excludedPaths", "/*") {
            if policy["includedPaths"].as_array().is_some_and(|paths| !paths.is_empty()) {
                return Err(refused(
                    "The special mandatory indexing path \"/\" is not provided in any of the path type sets. Please provide this path in one of the sets.",
                ));
            }
            policy.insert("includedPaths".to_owned(), json!([{"path": "/*"}]));
        }
        let etag = "/\"_etag\"/?";
        if !has(policy, "excludedPaths", etag) && !has(policy, "includedPaths", etag) {
            policy
                .get_mut("excludedPaths")
                .and_then(Value::as_array_mut)
                .into_iter()
                .for_each(|paths| paths.push(json!({"path": etag})));
        }
    }
    composite_indexes(policy.get_mut("compositeIndexes"))
}

fn composite_indexes(indexes: Option<&mut Value>) -> Result<(), Refusal> {
    let Some(indexes) = indexes else { return Ok(()) };
    let bad = || {
        refused(
            "The composite indexes of the indexing policy are invalid: each has 2 to 8 paths of single values.",
        )
    };
    for index in indexes.as_array_mut().ok_or_else(bad)? {
        let paths =
            index.as_array_mut().filter(|paths| (2..=8).contains(&paths.len())).ok_or_else(bad)?;
        for path in paths {
            let path = path.as_object_mut().ok_or_else(bad)?;
            let is_value = |text: &str| text.starts_with('/') && !text.ends_with(['?', '*']);
            if !path.get("path").and_then(Value::as_str).is_some_and(is_value) {
                return Err(bad());
            }
            let order = path.entry("order").or_insert_with(|| json!("ascending"));
            if order != "ascending" && order != "descending" {
                return Err(bad());
            }
        }
    }
    Ok(())
}

fn unique_keys(policy: Option<&Value>) -> Result<(), Refusal> {
    let Some(policy) = policy else { return Ok(()) };
    let keys = policy["uniqueKeys"]
        .as_array()
        .ok_or_else(|| refused("uniqueKeyPolicy.uniqueKeys is an array."))?;
    let is_key = |key: &Value| {
        texts(&key["paths"]).is_some_and(|paths| {
            !paths.is_empty() && paths.iter().all(|path| path.parse::<PropertyPath>().is_ok())
        })
    };
    if keys.len() > 10 || !keys.iter().all(is_key) {
        return Err(refused(
            "The unique key policy is invalid: at most 10 keys, each of paths such as /a/b.",
        ));
    }
    Ok(())
}

fn computed_properties(properties: Option<&Value>) -> Result<(), Refusal> {
    let Some(properties) = properties else { return Ok(()) };
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_property = |one: &Value| is_text(&one["name"]) && is_text(&one["query"]);
    if properties.as_array().is_some_and(|properties| properties.iter().all(is_property)) {
        return Ok(());
    }
    Err(refused(
        "One of the specified inputs is invalid: computedProperties is an array, and each has a name and a query.",
    ))
}

impl Definition {
    /// Reads a complete definition.
    pub(super) fn read(json: Value) -> Self {
        let paths = |paths: &Value| -> Vec<PropertyPath> {
            texts(paths).unwrap_or_default().into_iter().filter_map(key_path).collect()
        };
        let retention = json["changeFeedPolicy"]["retentionDuration"].as_i64();
        Self {
            name: json["id"].as_str().unwrap_or_default().to_owned(),
            key_paths: paths(&json["partitionKey"]["paths"]),
            hash_version: if json["partitionKey"]["version"] == 1 { 1 } else { 2 },
            default_ttl: json["defaultTtl"].as_i64(),
            unique_keys: json["uniqueKeyPolicy"]["uniqueKeys"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|key| paths(&key["paths"]))
                .collect(),
            retention_minutes: retention.filter(|minutes| *minutes > 0),
            policy: IndexingPolicy::deserialize(&json["indexingPolicy"]).unwrap_or_default(),
            json,
        }
    }
}
