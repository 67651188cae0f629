//! Definitions of containers: what the service refuses, and the defaults that it adds.

use cosmos_model::{charges::policy::IndexingPolicy, partitioning::path::PropertyPath};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Definition, policies};
use crate::{Refusal, Result};

/// Properties that the service indexes whatever the policy says.
const ALWAYS_INDEXED: [&str; 3] = ["id", "_ts", "_rid"];

/// The deepest hierarchical partition key.
const MAX_LEVELS: usize = 3;

/// The most bytes or characters of a name of a database, a container, an item.
const MAX_NAME: usize = 255;
/// The bytes of the id of an item:
/// <https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits>.
const MAX_ID: usize = 1023;

pub(super) const NO_ID: &str =
    "The input content is invalid because the required properties - 'id; ' - are missing";

/// What a replacement must leave as it is.
const LASTING: [&str; 2] = ["partitionKey", "uniqueKeyPolicy"];

fn refused(text: impl Into<String>) -> Refusal {
    Refusal::new(400, text)
}

pub(super) fn check_id(id: &str) -> Result<()> {
    check(id, id.len() <= MAX_ID, "1024")
}

fn check(name: &str, is_short: bool, limit: &str) -> Result<()> {
    if is_short && !name.is_empty() && !name.contains(['/', '\\', '?', '#']) {
        return Ok(());
    }
    Err(refused(format!(
        "The input name is invalid. Ensure to provide a unique non-empty string less than '{limit}' characters. It has \
         none of / \\ ? #."
    )))
}

pub(super) fn name_in(body: &Value) -> Result<&str> {
    let name = body["id"].as_str().ok_or_else(|| refused(NO_ID))?;
    check(name, name.chars().count() <= MAX_NAME, "255")?;
    if name.ends_with(' ') {
        return Err(refused("The input name is invalid: it ends with a space."));
    }
    Ok(name)
}

/// Checks a definition and returns it with the service's defaults, without system properties.
pub(super) fn complete(given: &Value) -> Result<Map<String, Value>> {
    name_in(given)?;
    let given = given.as_object().ok_or_else(|| refused("A definition is an object."))?;
    let mut definition: Map<_, _> = given
        .iter()
        .filter(|(name, value)| !name.starts_with('_') && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    partition_key(definition.entry("partitionKey").or_insert(Value::Null))?;
    let policy = definition.entry("indexingPolicy").or_insert_with(|| json!({}));
    indexing_policy(policy)?;
    policies::check(&definition)?;
    if let Some(ttl) = definition.get("defaultTtl").filter(|ttl| !ttl.as_i64().is_some_and(is_ttl))
    {
        return Err(bad_ttl(ttl));
    }
    let is_bad =
        |name, is_good: fn(&Value) -> bool| definition.get(name).is_some_and(|it| !is_good(it));
    if is_bad("uniqueKeyPolicy", are_unique_keys) {
        let text = "The unique key policy is invalid: at most 10 keys, each of paths such as /a/b.";
        return Err(refused(text));
    }
    if is_bad("changeFeedPolicy", is_change_feed_policy) {
        return Err(refused("changeFeedPolicy.retentionDuration is a number of minutes."));
    }
    if is_bad("computedProperties", are_computed_properties) {
        let text = "One of the specified inputs is invalid: computedProperties is an array, and each has a name and a query.";
        return Err(refused(text));
    }
    let conflicts = definition.entry("conflictResolutionPolicy").or_insert_with(|| json!({}));
    let conflicts = object(conflicts, "conflictResolutionPolicy")?;
    let mode = conflicts.entry("mode").or_insert_with(|| json!("LastWriterWins"));
    let path = if mode == "Custom" { "" } else { "/_ts" };
    conflicts.retain(|_, value| !value.is_null());
    conflicts.entry("conflictResolutionPath").or_insert_with(|| json!(path));
    conflicts.entry("conflictResolutionProcedure").or_insert_with(|| json!(""));
    definition.entry("geospatialConfig").or_insert_with(|| json!({"type": "Geography"}));
    Ok(definition)
}

fn is_change_feed_policy(policy: &Value) -> bool {
    let minutes = &policy["retentionDuration"];
    minutes.is_null() || minutes.as_u64().is_some_and(|minutes| i32::try_from(minutes).is_ok())
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
pub(super) fn check_replacement(old: &Map<String, Value>, new: &Map<String, Value>) -> Result<()> {
    if old.get("id") != new.get("id") {
        return Err(refused("The id of a container cannot be changed."));
    }
    match LASTING.iter().find(|name| old.get(**name) != new.get(**name)) {
        Some(name) => Err(refused(format!("Document collection {name} cannot be changed."))),
        None => policies::check_replacement(old, new),
    }
}

fn object<'a>(value: &'a mut Value, name: &str) -> Result<&'a mut Map<String, Value>> {
    value.as_object_mut().ok_or_else(|| refused(format!("{name} is an object.")))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn partition_key(key: &mut Value) -> Result<()> {
    let key = object(key, "partitionKey")?;
    key.retain(|_, value| !value.is_null());
    let kind = key.entry("kind").or_insert_with(|| json!("Hash"));
    let kind = kind.as_str().unwrap_or_default().to_owned();
    let version = key.entry("version").or_insert_with(|| json!(2)).as_u64();
    let paths = key.get("paths").and_then(texts).unwrap_or_default();
    let most = if kind == "MultiHash" { MAX_LEVELS } else { 1 };
    if !["Hash", "MultiHash", "Range"].contains(&kind.as_str()) {
        return Err(refused(format!("The partition key kind '{kind}' is invalid.")));
    }
    if !(1..=most).contains(&paths.len()) {
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
    let mut parts = text.split("/'");
    let first = parts.next()?;
    let mut names = match first {
        "" => Vec::new(),
        first => first.parse::<PropertyPath>().ok()?.names().to_vec(),
    };
    for part in parts {
        let (name, rest) = part.split_once('\'')?;
        names.push(name.to_owned());
        if !rest.is_empty() {
            names.extend_from_slice(rest.parse::<PropertyPath>().ok()?.names());
        }
    }
    PropertyPath::from_names(names)
}

fn is_system(names: &[String]) -> bool {
    names.first().is_some_and(|name| super::record::SYSTEM_PROPERTIES.contains(&name.as_str()))
}

fn indexing_policy(policy: &mut Value) -> Result<()> {
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
    let has = |policy: &Map<String, Value>, path: &str| {
        let lists = ["includedPaths", "excludedPaths"].map(|name| policy[name].as_array());
        lists.into_iter().flatten().flatten().any(|one| one["path"] == path)
    };
    if mode != "none" {
        if !has(policy, "/*") {
            if policy["includedPaths"] != json!([]) {
                return Err(refused(
                    "The special mandatory indexing path \"/\" is not provided in any of the path type sets. Please provide this path in one of the sets.",
                ));
            }
            policy.insert("includedPaths".to_owned(), json!([{"path": "/*"}]));
        }
        let etag = "/\"_etag\"/?";
        if !has(policy, etag)
            && let Some(excluded) = policy.get_mut("excludedPaths").and_then(Value::as_array_mut)
        {
            excluded.push(json!({"path": etag}));
        }
    }
    let composite = policy.get_mut("compositeIndexes").map(composite_indexes);
    composite.unwrap_or(Some(())).ok_or_else(|| {
        refused("The composite indexes of the indexing policy are invalid: each has 2 to 8 paths of single values.")
    })
}

/// Checks composite indexes and completes them; `None` for bad ones.
fn composite_indexes(indexes: &mut Value) -> Option<()> {
    for index in indexes.as_array_mut()? {
        for path in index.as_array_mut().filter(|paths| (2..=8).contains(&paths.len()))? {
            let text = path["path"].as_str()?;
            let is_value = text.starts_with('/') && !text.ends_with(['?', '*']);
            let path = path.as_object_mut().filter(|_| is_value)?;
            let order = path.entry("order").or_insert_with(|| json!("ascending"));
            (order == "ascending" || order == "descending").then_some(())?;
        }
    }
    Some(())
}

fn are_unique_keys(policy: &Value) -> bool {
    let is_key = |key: &Value| {
        texts(&key["paths"]).is_some_and(|paths| {
            !paths.is_empty() && paths.iter().all(|path| path.parse::<PropertyPath>().is_ok())
        })
    };
    let keys = policy["uniqueKeys"].as_array();
    keys.is_some_and(|keys| keys.len() <= 10 && keys.iter().all(is_key))
}

fn are_computed_properties(properties: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_property = |one: &Value| is_text(&one["name"]) && is_text(&one["query"]);
    properties.as_array().is_some_and(|properties| properties.iter().all(is_property))
}

impl Definition {
    /// Returns true if a property has an index: of the policy, or since it is the service's own.
    pub(crate) fn indexes(&self, path: &[String]) -> bool {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        matches!(names.as_slice(), [name] if ALWAYS_INDEXED.contains(name))
            || self.policy.is_on() && self.policy.covers(&names)
    }

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
