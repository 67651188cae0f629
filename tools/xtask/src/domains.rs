//! Removes each domain in turn from a work tree at HEAD, and checks that the rest builds and passes its
//! tests: so no shared code needs a domain, and no domain needs another.
//!
//! The parts of a domain are derived from its folder in `src/`:
//!
//! - its functions: those that its sources name, and their rows in the queries of the alerts;
//! - its row in the table of what triggers cost at rest;
//! - its containers: those that its sources open;
//! - its tests: the files that name the domain, its routes, functions or containers, and the files
//!   that use one of those;
//! - its tools: the crates that import it.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::tree::{Tree, run};

/// Removes the domain with this name, or each in turn.
pub(crate) fn domains(only: Option<&str>) -> anyhow::Result<()> {
    let tree = Tree::at_head()?;
    let app = fs::read_to_string(tree.path.join("src/lib.rs"))?;
    let names = app.lines().filter_map(|line| line.trim().strip_prefix(".domain("));
    let names: Vec<&str> = names.filter_map(|line| line.strip_suffix("::domain)")).collect();
    let chosen: Vec<&str> =
        names.iter().copied().filter(|name| only.is_none_or(|only| only == *name)).collect();
    ensure!(!chosen.is_empty(), "the domains are {}", names.join(", "));
    for name in chosen {
        let git =
            |arguments: &[&str]| run(Command::new("git").arg("-C").arg(&tree.path).args(arguments));
        git(&["checkout", "--quiet", "--force", "HEAD"])?;
        let left = remove(&tree.path, name).with_context(|| format!("removing {name}"))?;
        eprintln!("Without {name}: {} files of tests remain", left.tests);
        let outcome = build_and_test(&tree, &left);
        git(&["checkout", "--quiet", "--force", "HEAD"])?;
        outcome.with_context(|| format!("without {name}"))?;
        println!("removed {name}: the rest builds and passes its tests");
    }
    Ok(())
}

/// The rest without a domain.
struct Left {
    tests: usize,
    /// The crates that import the domain, by their names.
    tools: Vec<String>,
}

fn build_and_test(tree: &Tree, left: &Left) -> anyhow::Result<()> {
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(&tree.path);
        cargo.env("CARGO_TARGET_DIR", &tree.target).env("RUST_BACKTRACE", "0");
        run(&mut cargo).map(drop)
    };
    let mut check = vec!["check", "--workspace", "--quiet"];
    for tool in &left.tools {
        check.extend(["--exclude", tool]);
    }
    cargo(&check)?;
    cargo(&["test", "--quiet", "--package", "tributary", "--lib", "--bins", "--tests"])
}

fn remove(root: &Path, name: &str) -> anyhow::Result<Left> {
    let sources = root.join("src").join(name);
    let text = all_text(&sources)?;
    let functions = functions(root, &text)?;
    let containers: BTreeSet<&str> = between(&text, ".container(\"", "\"").collect();
    let mut needles: Vec<String> = vec![format!("{name}::"), format!("tributary::{name}")];
    needles.extend(routes(&text).into_iter().map(|route| format!("/api/{route}")));
    let names = functions.iter().map(String::as_str).chain(containers.iter().copied());
    needles.extend(names.map(|name| format!("\"{name}\"")));

    fs::remove_dir_all(&sources)?;
    let package = format!("tributary-{name}");
    let lines =
        [format!("pub use tributary_{name} as {name};"), format!(".domain({name}::domain)")];
    without_lines(&root.join("src/lib.rs"), |line| lines.iter().any(|own| own == line))?;
    let manifest = root.join("Cargo.toml");
    without_lines(&manifest, |line| line.starts_with(&package))?;
    let members = fs::read_to_string(&manifest)?.replace(&format!("\"src/{name}\", "), "");
    fs::write(&manifest, members)?;
    for function in &functions {
        fs::remove_dir_all(root.join("functions").join(function))?;
        for query in fs::read_dir(root.join("infra/kql"))? {
            without_lines(&query?.path(), |line| line.starts_with(&format!("\"{function}\",")))?;
        }
    }
    remove_containers(&root.join("infra/containers.json"), &containers)?;
    without_lines(&root.join("docs/costs.md"), |line| line.starts_with(&format!("| `{name}` |")))?;
    let tests = remove_tests(&root.join("tests"), name, &needles)?;
    let tools = importing_tools(root, name)?;
    Ok(Left { tests, tools })
}

/// Returns the functions that the sources of a domain name.
fn functions(root: &Path, sources: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for folder in fs::read_dir(root.join("functions"))? {
        let name = folder?.file_name().to_string_lossy().into_owned();
        if sources.contains(&format!("\"{name}\"")) {
            names.insert(name);
        }
    }
    Ok(names)
}

/// Returns the first parts of a domain's routes behind `/api/`: `posts`.
fn routes(sources: &str) -> BTreeSet<&str> {
    let routes = between(sources, "\"/api/", "\"");
    routes.filter_map(|route| route.split('/').next()).collect()
}

fn remove_containers(file: &Path, ids: &BTreeSet<&str>) -> anyhow::Result<()> {
    let mut json: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let containers = json["containers"].as_array_mut().context("there are no containers")?;
    containers.retain(|one| one["id"].as_str().is_none_or(|id| !ids.contains(id)));
    Ok(fs::write(file, serde_json::to_string_pretty(&json)?)?)
}

/// Removes the tests of a domain and all that use them; returns the number of the remaining files.
fn remove_tests(root: &Path, name: &str, needles: &[String]) -> anyhow::Result<usize> {
    let mut modules: Vec<TestModule> = Vec::new();
    let program = root.join(name);
    if program.exists() {
        fs::remove_dir_all(program)?;
    }
    loop {
        let mut files = Vec::new();
        files_of(root, &mut files)?;
        files.retain(|file| !is_shared(file));
        let mut removed = false;
        for file in &files {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let is_named = needles.iter().any(|needle| has(&text, needle));
            let is_user = |module: &TestModule| module.is_used_by(root, file, &text);
            if is_named || modules.iter().any(is_user) {
                modules.push(remove_module(root, file)?);
                removed = true;
            }
        }
        if !removed {
            return Ok(files.len());
        }
    }
}

/// A removed module of the tests: the folder of its parent, and its name.
struct TestModule {
    parent: PathBuf,
    name: String,
}

impl TestModule {
    /// Returns true if the text of a file uses this module: from anywhere in its test program if it is
    /// at its root, from any program if it is common, and otherwise beside it.
    fn is_used_by(&self, root: &Path, file: &Path, text: &str) -> bool {
        let Self { parent, name } = self;
        let is_common = *parent == root.join("common");
        let is_at_root = parent.join("main.rs").exists() && file.starts_with(parent);
        (is_common || is_at_root) && imports(text, "crate", name)
            || file.parent() == Some(parent) && imports(text, "super", name)
    }
}

/// Returns true if `text` uses a module below `base`: `crate::process`, and not `std::process`.
fn imports(text: &str, base: &str, module: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let uses = format!("use {base}::");
    let mut imports = between(text, &uses, ";");
    has(text, &format!("{base}::{module}::"))
        || imports.any(|import| import.split(|c| !is_word(c)).any(|word| word == module))
}

/// Returns true for the files that every test needs.
fn is_shared(file: &Path) -> bool {
    ["main.rs", "common/mod.rs", "common/world.rs"].iter().any(|shared| file.ends_with(shared))
}

/// Removes a module of the tests with the lines that declare and import it.
fn remove_module(root: &Path, file: &Path) -> anyhow::Result<TestModule> {
    let is_folder = file.ends_with("mod.rs");
    let path = if is_folder { file.parent().context("a folder")? } else { file };
    let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
    let parent = path.parent().context("a parent")?.to_owned();
    if is_folder {
        fs::remove_dir_all(path)?;
    } else {
        fs::remove_file(path)?;
    }
    let declarations =
        [format!("mod {name};"), format!("pub(crate) mod {name};"), format!("use common::{name};")];
    let programs = fs::read_dir(root)?.map(|entry| Ok(entry?.path().join("main.rs")));
    let mut declaring = programs.collect::<io::Result<Vec<_>>>()?;
    declaring.retain(|main| parent.ends_with("common") || main.parent() == Some(&parent));
    declaring.push(parent.join("mod.rs"));
    for file in declaring.iter().filter(|file| file.exists()) {
        without_lines(file, |line| declarations.iter().any(|one| one == line))?;
    }
    Ok(TestModule { parent, name })
}

/// Returns the packages in `tools/` that import the domain.
fn importing_tools(root: &Path, name: &str) -> anyhow::Result<Vec<String>> {
    let mut tools = Vec::new();
    for folder in fs::read_dir(root.join("tools"))? {
        let folder = folder?.path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let text = all_text(&folder)?;
        let imports = between(&text, "use tributary::", ";");
        if imports.into_iter().any(|import| has(import, &format!("{name}::"))) {
            let package = between(&manifest, "name = \"", "\"").next().context("a name")?;
            tools.push(package.to_owned());
        }
    }
    Ok(tools)
}

/// Returns true if `text` has the name as a word of its own.
fn has(text: &str, needle: &str) -> bool {
    text.match_indices(needle).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
}

fn without_lines(file: &Path, goes: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines: Vec<&str> = text.lines().filter(|line| !goes(line.trim())).collect();
    Ok(fs::write(file, lines.join("\n") + "\n")?)
}

fn all_text(folder: &Path) -> anyhow::Result<String> {
    let mut files = Vec::new();
    files_of(folder, &mut files)?;
    let texts: Result<Vec<String>, _> = files.iter().map(fs::read_to_string).collect();
    Ok(texts?.join("\n"))
}

/// Adds the Rust sources of a folder.
fn files_of(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files_of(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_the_crate_differs_from_one_of_the_library() {
        for user in ["use crate::process::x;", "use crate::{a, process};", "crate::process::x()"] {
            assert!(imports(user, "crate", "process"), "{user}");
        }
        for other in ["use std::process::X;", "use std::{process::X};", "use crate::processes::x;"]
        {
            assert!(!imports(other, "crate", "process"), "{other}");
        }
    }
}
