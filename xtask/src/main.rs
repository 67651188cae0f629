//! Chores of the workspace: `cargo xtask check` before a commit, `cargo xtask tour` to see that the
//! README's tour is as it says, `cargo xtask chaos` for the long run of `docs/chaos.md`,
//! `cargo xtask rename` for that of `docs/renames.md`, `cargo xtask package` for what is deployed.

mod package;
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
    /// Builds the handler for Azure and writes target/functionapp and target/functionapp.zip.
    Package(package::Options),
    /// Random commands under chaos, compared with a reference model; `--help` is its own.
    #[command(disable_help_flag = true)]
    Chaos {
        /// What the simulator takes: `cargo xtask chaos --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Renames a user with many items and kills the handler meanwhile; `--help` is its own.
    #[command(disable_help_flag = true)]
    Rename {
        /// What the simulator takes: `cargo xtask rename --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Check => check(),
        Task::Tour => tour::tour(),
        Task::Package(options) => package::package(&options),
        Task::Chaos { arguments } => simulator(&arguments),
        Task::Rename { arguments } => simulator(&[&["rename".into()], &arguments[..]].concat()),
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

fn simulator(arguments: &[String]) -> anyhow::Result<()> {
    // Both in one build, and the simulator finds the handler beside itself.
    let programs = ["--bin", "tributary", "--bin", "tributary-chaos"];
    cargo(&[&["build", "--release"][..], &programs].concat())?;
    let run = ["run", "--quiet", "--release", "--bin", "tributary-chaos", "--"];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo(&[&run[..], &arguments].concat())
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
