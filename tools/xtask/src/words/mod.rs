//! The words of the project: those that its texts avoid, openings of doc comments, names of types, the
//! glossary, and the length of pages. The words are in `words.toml`, each with its reason.
//!
//! **A text** is a doc comment, a comment, a literal with a space in it, the name of an item, or a page
//! of the documents. Code between backticks is no text.
//!
//! **An area** is a package with its README, or `docs`: all other pages. The findings of an area fail the
//! check as soon as `held` in `words.toml` names the area. An allowance without a finding is an error,
//! so no allowance outlives its reason.

mod findings;
mod pages;
mod phrases;
mod rust_texts;
mod sample;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail, ensure};

use self::{findings::Findings, rust_texts::RustTexts, table::WordTable};
use crate::{docs, workspace::Workspace};

/// The table of words, beside this crate's manifest.
const TABLE: &str = "tools/xtask/words.toml";
/// The page that defines the words of the project.
const GLOSSARY: &str = "docs/glossary.md";
/// The area of the pages that are in no package.
const DOCS: &str = "docs";

/// Options of `cargo xtask words`.
#[derive(clap::Args)]
pub(crate) struct WordOptions {
    /// Only these areas: names of packages, or `docs`.
    areas: Vec<String>,
    /// Lists each finding and each noun clause, also those of areas that are not held.
    #[arg(long)]
    list: bool,
    /// Prints N functions taken at random, for a reading test.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Number that the sample follows from, to take the same functions again.
    #[arg(long, requires = "sample", value_name = "N")]
    seed: Option<u64>,
}

/// A file of the workspace.
struct AreaFile {
    area: String,
    /// The path from the root of the workspace.
    path: PathBuf,
}

/// Runs `cargo xtask words`.
pub(crate) fn words(options: &WordOptions) -> anyhow::Result<()> {
    let workspace = Workspace::read()?;
    if let Some(n_functions) = options.sample {
        return print_sample(&workspace, n_functions, options.seed);
    }
    let table = WordTable::read(&read(Path::new(TABLE))?).context(TABLE)?;
    let findings = find(&workspace, &table)?;
    for name in &options.areas {
        ensure!(findings.has_area(name), "there is no area {name}; {}", findings.area_names());
    }
    let is_chosen =
        |area: &str| options.areas.is_empty() || options.areas.iter().any(|one| one == area);
    if options.list {
        for line in findings.listing(is_chosen) {
            println!("{line}");
        }
    }
    print!("{}", findings.summary(&table, is_chosen));
    fail(&findings, &table)
}

/// Checks the areas that are held.
pub(crate) fn check() -> anyhow::Result<()> {
    let table = WordTable::read(&read(Path::new(TABLE))?).context(TABLE)?;
    fail(&find(&Workspace::read()?, &table)?, &table)
}

fn fail(findings: &Findings, table: &WordTable) -> anyhow::Result<()> {
    let faults = findings.faults(table);
    ensure!(faults.is_empty(), "words:\n{}", faults.join("\n"));
    Ok(())
}

fn find(workspace: &Workspace, table: &WordTable) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    for file in rust_files(workspace)? {
        let texts = parse(&file)?;
        findings.add_rust(&file.area, &file.path, &texts, table);
    }
    let packages = package_folders(workspace)?;
    for path in docs::pages(Path::new(""))? {
        let owner = packages.iter().find(|package| path.starts_with(&package.path));
        let area = owner.map_or(DOCS, |package| &package.area);
        findings.add_page(area, &path, &read(&path)?, table);
    }
    findings.add_missing_core_words(DOCS, Path::new(GLOSSARY), &read(Path::new(GLOSSARY))?, table);
    findings.add_repeated_type_names();
    Ok(findings)
}

/// Returns the folders of all packages but the one at the root.
fn package_folders(workspace: &Workspace) -> anyhow::Result<Vec<AreaFile>> {
    let mut folders = Vec::new();
    for package in &workspace.packages {
        let folder = package.manifest_path.parent().context("a manifest has a folder")?;
        let path = folder.strip_prefix(&workspace.root)?.to_owned();
        if path != Path::new("") {
            folders.push(AreaFile { area: package.name.clone(), path });
        }
    }
    Ok(folders)
}

/// Returns the Rust files of all packages: sources, tests, examples and templates.
fn rust_files(workspace: &Workspace) -> anyhow::Result<Vec<AreaFile>> {
    let mut files = Vec::new();
    for package in &workspace.packages {
        let folder = package.manifest_path.parent().context("a manifest has a folder")?;
        let folder = folder.strip_prefix(&workspace.root)?;
        for part in ["build.rs", "examples", "rooms", "src", "template", "tests"] {
            let mut paths = Vec::new();
            add_rust_files(&folder.join(part), &mut paths)?;
            paths.sort();
            let area = || package.name.clone();
            files.extend(paths.into_iter().map(|path| AreaFile { area: area(), path }));
        }
    }
    Ok(files)
}

/// Adds a Rust file, or those of a folder and of its folders.
fn add_rust_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            add_rust_files(&entry?.path(), files)?;
        }
    } else if path.exists() && path.extension().is_some_and(|end| end == "rs") {
        files.push(path.to_owned());
    }
    Ok(())
}

fn parse(file: &AreaFile) -> anyhow::Result<RustTexts> {
    let path = file.path.display();
    match RustTexts::read(&read(&file.path)?) {
        Ok(texts) => Ok(texts),
        Err(error) => bail!("{path}:{}: {error}", error.span().start().line),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(path);
    text.with_context(|| {
        format!("{} cannot be read; run this in the workspace's root", path.display())
    })
}

fn print_sample(
    workspace: &Workspace,
    n_functions: usize,
    seed: Option<u64>,
) -> anyhow::Result<()> {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let mut functions = Vec::new();
    for file in rust_files(workspace)?.iter().filter(|file| is_source(&file.path)) {
        let path = file.path.display();
        let found = parse(file)?.functions;
        functions.extend(found.iter().map(|one| format!("{path}:{}: {}", one.line, one.name)));
    }
    println!("{n_functions} of {} functions, with --seed {seed}", functions.len());
    for function in sample::sample(&functions, n_functions, seed) {
        println!("{function}");
    }
    Ok(())
}

/// Returns true for a file of a library or a program, as opposed to tests and examples.
fn is_source(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "src")
        && !path
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "template")
}
