//! Follows `docs/adding-a-function.md` to the letter: applies its blocks in a work tree at HEAD, and
//! runs the checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use anyhow::{Context, bail, ensure};

use crate::tree::{Tree, run};

const PAGE: &str = "docs/adding-a-function.md";

/// The number of files that a section may touch, tests and documents included, besides those that a
/// chore writes.
const MAX_FILES: [(&str, usize); 3] = [("A field", 1), ("An operation", 4), ("A projection", 7)];

/// One step of the page.
#[derive(Debug, PartialEq, Eq)]
struct GuideStep {
    section: String,
    /// The changed file; none for a command.
    file: String,
    change: FileChange,
}

#[derive(Debug, PartialEq, Eq)]
enum FileChange {
    New(String),
    Replace {
        text: String,
        by: String,
    },
    /// Chores of xtask, which write generated files, and commands `cargo local new`, one a line.
    Run(String),
}

/// Applies the page and runs the checks; with `keep`, leaves the tree after the page.
pub(crate) fn guide(keep: bool) -> anyhow::Result<()> {
    let tree = Tree::at_head()?;
    let page = fs::read_to_string(PAGE).context("run this in the workspace's root")?;
    let steps = steps(&page)?;
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut written = Vec::new();
    for step in &steps {
        written.extend(step.apply(&tree)?);
        if !step.file.is_empty() {
            files.entry(&step.section).or_default().insert(&step.file);
        }
    }
    for (section, most) in MAX_FILES {
        let touched = files.get(section).map_or(0, BTreeSet::len);
        println!("{section}: {touched} files");
        ensure!((1..=most).contains(&touched), "{section} touches {touched} files, not {most}");
    }
    if keep {
        println!("{}", tree.path.display());
        return Ok(());
    }
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).env("CARGO_TARGET_DIR", &tree.target).current_dir(&tree.path);
        eprintln!("cargo {}", arguments.join(" "));
        ensure!(cargo.status()?.success(), "cargo {} failed", arguments.join(" "));
        anyhow::Ok(())
    };
    cargo(&["run", "--quiet", "--package", "xtask", "--", "check"])?;
    let changed = steps.iter().map(|step| &step.file).chain(&written);
    let stories = changed.filter_map(|file| file.strip_prefix("tests/")?.split_once('/'));
    let mut programs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (program, file) in stories {
        let modules = programs.entry(program).or_default();
        if !file.ends_with("main.rs") && !file.ends_with("mod.rs") {
            modules.insert(format!("{}::", file.trim_end_matches(".rs").replace('/', "::")));
        }
    }
    for (program, modules) in programs {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        cargo(
            &[&["test", "--package", "tributary", "--test", program, "--"], &modules[..]].concat(),
        )?;
    }
    Ok(())
}

impl GuideStep {
    /// Carries out the step. Returns the files that a command has created.
    fn apply(&self, tree: &Tree) -> anyhow::Result<Vec<String>> {
        let mut written = Vec::new();
        let path = tree.path.join(&self.file);
        match &self.change {
            FileChange::New(text) => {
                ensure!(!path.exists(), "{} is there already", self.file);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(&path, text)?;
            }
            FileChange::Replace { text, by } => {
                let source = fs::read_to_string(&path).with_context(|| self.file.clone())?;
                let times = source.matches(text.as_str()).count();
                ensure!(times == 1, "{} has this {times} times, not once:\n{text}", self.file);
                fs::write(&path, source.replace(text.as_str(), by))?;
            }
            FileChange::Run(commands) => {
                for command in commands.lines() {
                    let command = command.replace('\'', "");
                    let (package, arguments) = if let Some(chore) =
                        command.strip_prefix("cargo xtask ")
                    {
                        (["--package", "xtask"], chore)
                    } else {
                        let part = command.strip_prefix("cargo local ");
                        let part = part.filter(|part| part.starts_with("new "));
                        let neither = || format!("{command} is no chore of xtask, and no `new`");
                        (["--bin", "tributary-local"], part.with_context(neither)?)
                    };
                    let mut cargo = Command::new(env!("CARGO"));
                    cargo
                        .args(["run", "--quiet"])
                        .args(package)
                        .arg("--")
                        .args(arguments.split(' '));
                    cargo.env("CARGO_TARGET_DIR", &tree.target).current_dir(&tree.path);
                    // The functions of all parts are written by the next chore.
                    if arguments.starts_with("new ") {
                        cargo.arg("--without-functions");
                    }
                    let said = String::from_utf8(run(&mut cargo)?.stdout)?;
                    let files = said.lines().filter_map(|line| line.strip_prefix("new      "));
                    written.extend(files.map(str::to_owned));
                }
            }
        }
        Ok(written)
    }
}

/// Returns the steps of a page: a block after "New file `a`:", a block of changes in `diff`, and commands
/// after "Run:". Other blocks change nothing.
fn steps(page: &str) -> anyhow::Result<Vec<GuideStep>> {
    let mut steps = Vec::new();
    let mut section = String::new();
    let mut last_line = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        }
        let Some(language) = line.strip_prefix("```") else {
            last_line = if line.is_empty() { last_line } else { line };
            continue;
        };
        let mut block = String::new();
        loop {
            match lines.next() {
                None => bail!("a block of {PAGE} has no end"),
                Some("```") => break,
                Some(line) => block.extend([line, "\n"]),
            }
        }
        let mut add = |file: &str, change| {
            steps.push(GuideStep { section: section.clone(), file: file.to_owned(), change });
        };
        if language == "diff" {
            for (file, change) in changes(&block)? {
                add(file, change);
            }
        } else if last_line.contains("New file `") {
            let file = last_line.rsplit('`').nth(1).context("a new file has a name")?;
            add(file, FileChange::New(block));
        } else if last_line.ends_with("Run:") {
            add("", FileChange::Run(block));
        }
    }
    Ok(steps)
}

/// Returns the changes of a block in `diff`: "+++ " and a file, then its changes, with "@@" between them.
/// The lines of a change begin with "-", "+", or a space.
fn changes(block: &str) -> anyhow::Result<Vec<(&str, FileChange)>> {
    let mut changes = Vec::new();
    for part in block.split("+++ ").skip(1) {
        let (file, part) = part.split_once('\n').context("a file has changes")?;
        for hunk in part.split("@@\n") {
            let mut text = String::new();
            let mut by = String::new();
            for line in hunk.lines() {
                let (kind, line) = line.split_at(line.len().min(1));
                match kind {
                    "-" => text.extend([line, "\n"]),
                    "+" => by.extend([line, "\n"]),
                    _ => {
                        text.extend([line, "\n"]);
                        by.extend([line, "\n"]);
                    }
                }
            }
            changes.push((file, FileChange::Replace { text, by }));
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_split_into_steps() -> anyhow::Result<()> {
        let page = "## One\nWords.\n\n```diff\n+++ a.rs\n-old\n+new\n same\n@@\n more\n+last\n+++ c.rs\n-x\n```\n\n\
                    New file `b.rs`:\n\n```rust\nall\n```\n\nRun:\n\n```sh\ncargo\n```\n\nSo:\n\n```sh\nno\n```\n";
        let step =
            |file: &str, change| GuideStep { section: "One".into(), file: file.into(), change };
        let replace =
            |text: &str, by: &str| FileChange::Replace { text: text.into(), by: by.into() };
        assert_eq!(
            steps(page)?,
            [
                step("a.rs", replace("old\nsame\n", "new\nsame\n")),
                step("a.rs", replace("more\n", "more\nlast\n")),
                step("c.rs", replace("x\n", "")),
                step("b.rs", FileChange::New("all\n".into())),
                step("", FileChange::Run("cargo\n".into())),
            ]
        );
        Ok(())
    }
}
