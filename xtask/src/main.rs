//! Chores of the workspace: `cargo xtask check` before a commit, `cargo xtask tour` to see that the
//! README's tour is as it says.

mod tour;

use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use clap::Parser;

/// Chores of the workspace.
#[derive(Parser)]
enum Task {
    /// Formatting, lints and documentation, with warnings as errors.
    Check,
    /// Runs the commands of the README's tour against `cargo local --demo`.
    Tour,
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Check => check(),
        Task::Tour => tour::tour(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo(&["doc", "--workspace", "--no-deps"])
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    eprintln!("cargo {}", arguments.join(" "));
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "cargo {} failed", arguments[0]);
    Ok(())
}
