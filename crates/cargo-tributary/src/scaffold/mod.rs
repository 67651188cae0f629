//! Writes functions, aggregates and projections into an app on `tributary-functions`: the sources, the lines of
//! the domain, the container, the story. `cargo local new` is its command.
//!
//! 1. All changes are planned in memory and checked. A file that exists is never overwritten.
//! 2. An edit finds its place in the syntax tree, so it does not depend on the form of a file. Where it finds
//!    none, the line and its place are printed, to be added by hand.
//! 3. Then all files are written, formatted by rustfmt, and the app writes its folder `functions/`.
//!
//! The templates are files of Rust in `templates/`. `cargo xtask new-app` builds and tests what they
//! become.

mod aggregate;
mod app;
mod function;
mod names;
mod options;
mod plan;
mod projection;
mod source;
mod types;

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, ensure};
use clap::Subcommand;

pub use self::{aggregate::NewAggregate, function::NewFunction, projection::NewProjection};
use self::{app::AppFolder, plan::WritePlan};

/// A part of an app that can be written.
#[derive(Debug, Subcommand)]
pub enum NewPart {
    /// Write a query or a command over HTTP.
    Function(NewFunction),
    /// Write an item type with create, get, edit and delete under ETags, and a list in pages.
    Aggregate(NewAggregate),
    /// Write copies of a container's items that follow its change feed.
    Projection(NewProjection),
}

/// Writes a part into the app in this folder, and prints what was written and the next command.
///
/// # Errors
///
/// When the name is taken or invalid, when the part does not fit the app, and when the app does not build.
/// Nothing is written in the first two cases.
pub fn create(root: &Path, part: &NewPart) -> anyhow::Result<()> {
    let app = AppFolder::read(root)?;
    let mut plan = WritePlan::new(root);
    let common = match part {
        NewPart::Function(new) => &new.common,
        NewPart::Aggregate(new) => &new.common,
        NewPart::Projection(new) => &new.common,
    };
    let domain = app.domain(common.domain.as_deref())?;
    let story = match part {
        NewPart::Function(new) => function::plan(&app, &domain, new, &mut plan)?,
        NewPart::Aggregate(new) => aggregate::plan(&app, &domain, new, &mut plan)?,
        NewPart::Projection(new) => projection::plan(&app, &domain, new, &mut plan)?,
    };
    let is_complete = plan.carry_out(common.dry_run)?;
    if common.dry_run {
        return Ok(());
    }
    let functions = functions_command(root);
    if is_complete && !common.without_functions {
        let words = functions.join(" ");
        eprintln!("cargo {words}");
        let status = Command::new(app::cargo()).args(&functions).current_dir(root).status();
        let status = status.context("cargo cannot be run")?;
        ensure!(status.success(), "all files are written, but `cargo {words}` failed: see above");
        println!("Next: cargo test {story}::");
    } else {
        println!("Next: cargo {} && cargo test {story}::", functions.join(" "));
    }
    Ok(())
}

/// Returns the arguments by which cargo writes `functions/`: those of a chore of the workspace, if it has one.
fn functions_command(root: &Path) -> Vec<&'static str> {
    let config = fs::read_to_string(root.join(".cargo/config.toml")).unwrap_or_default();
    if config.lines().any(|line| line.starts_with("xtask = ")) {
        vec!["xtask", "functions"]
    } else {
        vec!["run", "--quiet", "--", "functions"]
    }
}
