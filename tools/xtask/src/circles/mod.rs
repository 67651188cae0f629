//! Circles of files, in every crate of the workspace, and the layers of the framework and of the app.
//!
//! **An arrow** goes from the file of a `use` or a path to the file that defines the named item.
//! Re-exports are followed: the arrow leads to the definition. Paths in macro calls, in the bodies of
//! `macro_rules!` and in attributes (`#[serde(with = "…")]`) count like all others.
//!
//! **A circle of files** is a set of files, each of which reaches each other one by arrows. None of
//! them can be read, moved or tested without all others. These make no arrow:
//!
//! - From a module to the modules in it. A parent declares its children, re-exports their items and
//!   puts them together, and they are parts of it: they see its private items. An arrow from a child to
//!   an item that its parent defines does count, so a circle through the parent and a file outside of it
//!   is found.
//! - All that stands under `#[cfg(test)]`: tests look at both sides.
//! - A call of a method: only names count. The type of the value was named before.
//!
//! **A circle of modules** is the same one level up: in each folder, the arrows between its files and
//! folders, where each folder counts as one.
//!
//! The parser is `syn`. It expands no macros, so an arrow that only a macro of another crate writes is
//! not seen.

mod arrows;
mod graph;
mod layers;
mod modules;
mod source;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, ensure};

use self::{arrows::Arrow, graph::Circle, modules::Modules};
use crate::workspace::Workspace;

/// Checks all crates of the workspace.
pub(crate) fn check() -> anyhow::Result<()> {
    let workspace = Workspace::read()?;
    let mut faults = Vec::new();
    let mut n_crates = 0;
    for package in &workspace.packages {
        let folder = package.manifest_path.parent().context("a manifest has a folder")?;
        let source = folder.join("src");
        for target in &package.targets {
            let is_crate = target.kind.iter().any(|kind| kind == "lib" || kind == "bin");
            if !is_crate || !target.src_path.starts_with(&source) {
                continue;
            }
            let read = |path: &Path| fs::read_to_string(path).ok();
            let modules = Modules::read_crate(&target.src_path, &read)?;
            n_crates += 1;
            faults.extend(faults_of(&package.name, &modules.arrows(), &workspace.root));
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n\n"));
    eprintln!("{n_crates} crates without a circle of files or modules");
    Ok(())
}

/// Returns the circles and the broken layers of one crate.
fn faults_of(package: &str, arrows: &[Arrow], root: &Path) -> Vec<String> {
    let files =
        graph::circles(arrows, |arrow| Some((arrow.from.path.as_path(), arrow.to.path.as_path())));
    let mut faults: Vec<_> = files.iter().map(|circle| text("files", circle, root)).collect();
    let folders: BTreeSet<&[String]> = arrows
        .iter()
        .flat_map(|arrow| (0..arrow.from.module.len()).map(|depth| &arrow.from.module[..depth]))
        .collect();
    for folder in folders {
        let modules = graph::circles(arrows, |arrow| {
            let from = arrow.from.module.strip_prefix(folder)?.first()?;
            Some((from, arrow.to.module.strip_prefix(folder)?.first()?))
        });
        // A circle of files is reported once.
        let is_new = |circle: &&Circle<'_>| {
            !files.iter().any(|known| circle.arrows.iter().all(|one| known.arrows.contains(one)))
        };
        faults.extend(modules.iter().filter(is_new).map(|circle| text("modules", circle, root)));
    }
    let wrong = arrows.iter().filter(|arrow| !layers::is_allowed(package, arrow));
    faults.extend(wrong.map(|arrow| format!("against the layers: {}", arrow.text(root))));
    faults
}

fn text(what: &str, circle: &Circle<'_>, root: &Path) -> String {
    let mut lines = vec![format!("a circle of {} {what}:", circle.n_nodes)];
    lines.extend(circle.arrows.iter().map(|arrow| format!("  {}", arrow.text(root))));
    lines.join("\n")
}
