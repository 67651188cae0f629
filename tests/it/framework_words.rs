//! The framework names nothing of the app's domains.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const FRAMEWORK: &str = "crates/tributary-functions/src";

/// Containers and functions that the framework has for every app, and words with another meaning in it:
/// the change feed, and callers.
const OF_THE_FRAMEWORK: &[&str] = &[
    "dead-letters",
    "projections",
    "leases",
    "ListDeadLetters",
    "GetDeadLetter",
    "ReplayDeadLetter",
    "DeleteDeadLetter",
    "ListProjections",
    "GetProjection",
    "PauseProjection",
    "ResumeProjection",
    "RebuildProjection",
    "CancelRebuild",
    "ReleaseLease",
    "ListCosts",
    "GetPage",
    "GetPageFile",
    "MaintainProjections",
    "GetApiDocs",
    "GetApiDocsFile",
    "GetOpenApi",
    "ZUnmatchedRoute",
    "feed",
    "users",
];

/// The words may stand neither in code nor in texts: each domain is an app's own.
#[test]
fn the_framework_names_nothing_of_the_domains() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let containers = fs::read_to_string(root.join("infra/containers.json")).unwrap();
    let containers: serde_json::Value = serde_json::from_str(&containers).unwrap();
    let containers = containers["containers"].as_array().unwrap().iter();
    let mut words: BTreeSet<String> =
        containers.map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    for folder in ["src", "functions"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        words.extend(folders.map(|entry| entry.file_name().into_string().unwrap()));
    }
    words.retain(|word| !OF_THE_FRAMEWORK.contains(&word.as_str()));
    assert!(words.contains("blog") && words.contains("posts") && words.contains("GetPost"));
    let mut found = Vec::new();
    for path in files_of(&root.join(FRAMEWORK)) {
        let source = fs::read_to_string(&path).unwrap();
        for (number, line) in source.lines().enumerate() {
            let mut parts = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if parts.any(|part| words.contains(part)) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The files below a folder, in their order.
fn files_of(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
