//! Checks the published crates for the needs of crates.io and of their users: metadata, a README, the
//! texts of the licences, no file by accident, none missing, and no unpublished dependency.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::tree;

/// The files and folders that a package may have.
const CONTENTS: [&str; 11] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "README.md",
    "build.rs",
    "examples",
    "rooms",
    "src",
    "template",
    "templates",
];

/// Those that a package must have.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The limits of crates.io.
const MAX_KEYWORDS: usize = 5;
const MAX_KEYWORD_LENGTH: usize = 20;

#[derive(Deserialize)]
struct WorkspacePackages {
    packages: Vec<PublishedPackage>,
}

/// A member of the workspace.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PublishedPackage {
    pub(crate) name: String,
    version: String,
    manifest_path: PathBuf,
    description: Option<String>,
    license: Option<String>,
    readme: Option<String>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    dependencies: Vec<Dependency>,
    /// The registries that accept it; `None` without restriction.
    publish: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Dependency {
    name: String,
    path: Option<PathBuf>,
}

/// Returns the members of the workspace.
fn members() -> anyhow::Result<Vec<PublishedPackage>> {
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    let output = tree::run(Command::new(env!("CARGO")).args(metadata))?;
    let WorkspacePackages { packages } = serde_json::from_slice(&output.stdout)?;
    Ok(packages)
}

/// Returns the members of the workspace that are published.
pub(crate) fn published() -> anyhow::Result<Vec<PublishedPackage>> {
    let mut packages = members()?;
    packages.retain(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()));
    Ok(packages)
}

/// Returns the domains, the crates in `src`, that depend on another domain.
fn domain_faults(members: &[PublishedPackage]) -> Vec<String> {
    let is_domain = |folder: &Path| folder.parent().is_some_and(|parent| parent.ends_with("src"));
    let domains = members.iter().filter(|one| one.manifest_path.parent().is_some_and(is_domain));
    let to_domain =
        |one: &&Dependency| one.path.as_ref().is_some_and(|path| is_domain(path.as_path()));
    let faults = domains.flat_map(|domain| {
        let others = domain.dependencies.iter().filter(to_domain);
        others.map(|other| format!("{} depends on the domain {}", domain.name, other.name))
    });
    faults.collect()
}

/// Checks that no domain depends on another, and all crates that are published.
pub(crate) fn check() -> anyhow::Result<()> {
    let faults = domain_faults(&members()?);
    ensure!(faults.is_empty(), "domains know the framework alone:\n{}", faults.join("\n"));
    let packages = published()?;
    ensure!(!packages.is_empty(), "no crate of the workspace is published");
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut faults = Vec::new();
    for package in &packages {
        let mut found = metadata_faults(package, &names);
        let folder = package.manifest_path.parent().context("a manifest is in no folder")?;
        match fs::read_to_string(folder.join("README.md")) {
            Ok(readme) => found.extend(readme_faults(&readme)),
            Err(error) => found.push(format!("README.md: {error}")),
        }
        let files = files(package)?;
        found.extend(content_faults(&files));
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            found.extend(include_faults(file, &fs::read_to_string(folder.join(file))?, &files));
        }
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", package.name)));
    }
    ensure!(faults.is_empty(), "crates that are published:\n{}", faults.join("\n"));
    Ok(())
}

impl PublishedPackage {
    /// Returns the name of its folder in the archive.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Returns the files of a package, relative to its folder.
fn files(package: &PublishedPackage) -> anyhow::Result<BTreeSet<PathBuf>> {
    let list = ["package", "--list", "--quiet", "--allow-dirty", "--package", &package.name];
    let output = tree::run(Command::new(env!("CARGO")).args(list))?;
    Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect())
}

fn metadata_faults(package: &PublishedPackage, published: &BTreeSet<&str>) -> Vec<String> {
    let mut faults = Vec::new();
    let texts = [
        ("description", &package.description),
        ("license", &package.license),
        ("readme", &package.readme),
        ("rust-version", &package.rust_version),
    ];
    for (field, text) in texts {
        if text.as_ref().is_none_or(String::is_empty) {
            faults.push(format!("Cargo.toml has no {field}"));
        }
    }
    if !(1..=MAX_KEYWORDS).contains(&package.keywords.len()) {
        faults.push(format!("Cargo.toml needs 1 to {MAX_KEYWORDS} keywords"));
    }
    let long = package.keywords.iter().find(|keyword| keyword.len() > MAX_KEYWORD_LENGTH);
    faults.extend(long.map(|keyword| format!("the keyword {keyword} is too long for crates.io")));
    if package.categories.is_empty() {
        faults.push("Cargo.toml has no categories".into());
    }
    // Dependencies of tests, too: they are in the published manifest.
    for dependency in &package.dependencies {
        if dependency.path.is_some() && !published.contains(dependency.name.as_str()) {
            faults.push(format!("it depends on {}, which is not published", dependency.name));
        }
    }
    faults
}

/// Returns the faults of a README, which crates.io and docs.rs show without the files beside it.
fn readme_faults(readme: &str) -> Vec<String> {
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_elsewhere = |link: &&str| !link.starts_with("https://") && !link.starts_with('#');
    links.filter(is_elsewhere).map(|link| format!("README.md links to the file {link}")).collect()
}

fn content_faults(files: &BTreeSet<PathBuf>) -> Vec<String> {
    let missing = LICENCES.iter().filter(|file| !files.contains(Path::new(file)));
    let mut faults: Vec<_> = missing.map(|file| format!("the package has no {file}")).collect();
    for file in files {
        let first = file.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        if !CONTENTS.contains(&first) && !LICENCES.contains(&first) {
            faults.push(format!("{} is in the package: see `include`", file.display()));
        }
    }
    faults
}

/// Returns the files that a source includes and that are not in the package.
fn include_faults(source: &Path, text: &str, files: &BTreeSet<PathBuf>) -> Vec<String> {
    let includes = text.split("include_str!(").skip(1).chain(text.split("include_bytes!(").skip(1));
    let literals = includes.filter_map(|rest| rest.trim_start().strip_prefix('"'));
    let paths = literals.filter_map(|rest| rest.split('"').next());
    let folder = source.parent().unwrap_or(Path::new(""));
    let missing = paths.filter(|path| !files.contains(&normal(&folder.join(path))));
    missing
        .map(|path| format!("{} includes {path}, which is not in the package", source.display()))
        .collect()
}

/// Returns a path without its `..`. One that leaves the package keeps them.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        let is_up = component == Component::ParentDir;
        if !(is_up && normal.file_name().is_some() && normal.pop()) {
            normal.push(component);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> PublishedPackage {
        let text = |text: &str| Some(text.to_owned());
        PublishedPackage {
            name: "river".into(),
            description: text("Water"),
            license: text("MIT"),
            readme: text("README.md"),
            rust_version: text("1.95"),
            keywords: vec!["water".into()],
            categories: vec!["database".into()],
            ..PublishedPackage::default()
        }
    }

    #[test]
    fn a_domain_that_depends_on_another_is_named() {
        let dependency = |path: &str| Dependency { name: "other".into(), path: Some(path.into()) };
        let domain = |path| PublishedPackage {
            manifest_path: "/app/src/river/Cargo.toml".into(),
            dependencies: vec![dependency(path)],
            ..complete()
        };
        assert!(domain_faults(&[domain("/app/crates/framework")]).is_empty());
        assert_eq!(domain_faults(&[domain("/app/src/sea")]), ["river depends on the domain other"]);
    }

    #[test]
    fn each_field_that_is_missing_is_named() {
        let published = BTreeSet::from(["spring"]);
        let complete = complete();
        assert!(metadata_faults(&complete, &published).is_empty());
        let dependency = |name: &str, path: Option<&str>| Dependency {
            name: name.into(),
            path: path.map(PathBuf::from),
        };
        let depends =
            |dependency| PublishedPackage { dependencies: vec![dependency], ..complete.clone() };
        for good in [dependency("spring", Some("../spring")), dependency("serde", None)] {
            assert!(metadata_faults(&depends(good), &published).is_empty());
        }
        for (package, fault) in [
            (PublishedPackage { description: None, ..complete.clone() }, "description"),
            (PublishedPackage { license: Some(String::new()), ..complete.clone() }, "license"),
            (PublishedPackage { readme: None, ..complete.clone() }, "readme"),
            (PublishedPackage { rust_version: None, ..complete.clone() }, "rust-version"),
            (PublishedPackage { keywords: vec![], ..complete.clone() }, "keywords"),
            (
                PublishedPackage { keywords: vec!["azure".into(); 6], ..complete.clone() },
                "keywords",
            ),
            (PublishedPackage { keywords: vec!["w".repeat(21)], ..complete.clone() }, "too long"),
            (PublishedPackage { categories: vec![], ..complete.clone() }, "categories"),
            (depends(dependency("bench", Some("../bench"))), "bench, which is not published"),
        ] {
            let faults = metadata_faults(&package, &published);
            assert!(faults.len() == 1 && faults[0].contains(fault), "{fault}: {faults:?}");
        }
    }

    #[test]
    fn a_readme_links_to_addresses_only() {
        let readme = "[a](https://docs.rs/a) [b](#b) [c](../c/README.md) [d](src/lib.rs)";
        let faults = readme_faults(readme);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("../c/README.md") && faults[1].contains("src/lib.rs"));
    }

    #[test]
    fn a_file_that_does_not_belong_there_and_a_missing_licence_are_named() {
        let files = ["LICENSE-MIT", "src/lib.rs", "proptest-regressions/lib.txt"];
        let faults = content_faults(&files.map(PathBuf::from).into());
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("LICENSE-APACHE") && faults[1].contains("proptest-regressions"));
    }

    #[test]
    fn a_source_includes_files_of_its_package_only() {
        let files = ["README.md", "src/lib.rs", "src/page/page.css"].map(PathBuf::from).into();
        let includes = |source: &str, path: &str| {
            let text = format!("const TEXT: &str = include_str!(\n    \"{path}\"\n);");
            include_faults(Path::new(source), &text, &files)
        };
        assert!(includes("src/lib.rs", "../README.md").is_empty());
        assert!(includes("src/page/mod.rs", "page.css").is_empty());
        for outside in ["../../README.md", "../../../docs/costs.md", "missing.css"] {
            assert_eq!(includes("src/lib.rs", outside).len(), 1, "{outside}");
        }
    }
}
