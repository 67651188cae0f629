//! The indexing policy of a container, and the paths that it covers.
//!
//! Source: <https://learn.microsoft.com/azure/cosmos-db/index-policy>.

use serde::{Deserialize, Deserializer};

/// The indexing policy of a container.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IndexingPolicy {
    automatic: bool,
    indexing_mode: String,
    included_paths: Vec<PolicyPath>,
    excluded_paths: Vec<PolicyPath>,
    /// Each is a list of properties.
    composite_indexes: Vec<Vec<PolicyPath>>,
}

/// A path of a policy, split into its steps.
#[derive(Clone, Debug, Deserialize)]
struct PolicyPath {
    #[serde(rename = "path", deserialize_with = "read_steps")]
    steps: Vec<String>,
}

fn read_steps<'de, D: Deserializer<'de>>(path: D) -> Result<Vec<String>, D::Error> {
    String::deserialize(path).map(|path| steps_of(&path))
}

impl Default for IndexingPolicy {
    /// Returns the policy of a container that names none: everything but the ETag is indexed.
    fn default() -> Self {
        let path = |path: &str| vec![PolicyPath { steps: steps_of(path) }];
        Self {
            automatic: true,
            indexing_mode: "consistent".to_owned(),
            included_paths: path("/*"),
            excluded_paths: path("/\"_etag\"/?"),
            composite_indexes: Vec::new(),
        }
    }
}

impl IndexingPolicy {
    /// Returns true if items are indexed automatically.
    pub fn is_on(&self) -> bool {
        self.automatic && !self.indexing_mode.eq_ignore_ascii_case("none")
    }

    /// Returns true if the value at `path` is indexed: the most precise pattern that covers it decides.
    pub fn covers(&self, path: &[&str]) -> bool {
        let best = |patterns: &[PolicyPath]| {
            patterns.iter().filter_map(|pattern| precision(&pattern.steps, path)).max()
        };
        let included = best(&self.included_paths);
        included.is_some() && included >= best(&self.excluded_paths)
    }

    /// Returns the paths of single values that are included by name.
    pub fn named_paths(&self) -> impl Iterator<Item = Vec<&str>> {
        self.included_paths.iter().filter_map(|included| {
            let (last, path) = included.steps.split_last()?;
            let is_named = last == "?" && !path.iter().any(|step| step == "[]");
            is_named.then(|| path.iter().map(String::as_str).collect())
        })
    }

    /// Returns the properties of each composite index, as paths.
    pub fn composite_indexes(&self) -> impl Iterator<Item = Vec<Vec<&str>>> {
        self.composite_indexes.iter().map(|index| index.iter().map(PolicyPath::names).collect())
    }
}

/// Returns the precision with which a pattern covers a path, if it does: its length, and true for a pattern of
/// the value itself (`/?`) instead of all below (`/*`).
fn precision(pattern: &[String], path: &[&str]) -> Option<(usize, bool)> {
    let (last, pattern) = pattern.split_last()?;
    let starts = pattern.len() <= path.len() && pattern.iter().zip(path).all(|(a, b)| a == b);
    match last.as_str() {
        "?" if starts && pattern.len() == path.len() => Some((pattern.len(), true)),
        "*" if starts => Some((pattern.len(), false)),
        _ => None,
    }
}

impl PolicyPath {
    fn names(&self) -> Vec<&str> {
        self.steps.iter().map(String::as_str).collect()
    }
}

/// Returns the steps of a path of a policy, such as `/a/[]/?`. A step in quotes may have any character.
pub fn steps_of(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(step) = rest.strip_prefix('/') {
        let end = match step.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map_or(step.len(), |end| end + 2),
            None => step.find('/').unwrap_or(step.len()),
        };
        let (segment, after) = step.split_at(end);
        steps.push(segment.trim_matches('"').to_owned());
        rest = after;
    }
    steps
}
