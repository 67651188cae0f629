//! Chores of the workspace: `cargo xtask --help` lists them.

mod alerts;
mod api_page;
mod docs;
mod local;
mod new_app;
mod package;

use std::process::{Command, Output};

use anyhow::{Context, ensure};
use clap::Parser;

/// Chores of the workspace.
#[derive(Parser)]
enum Task {
    /// Formatting, lints and documentation, with warnings as errors; links of documents; and the tests for
    /// missing parts of functions.
    Check {
        /// Only formatting, links and generated files: `.ci/run` lints as it builds.
        #[arg(long)]
        files: bool,
    },
    /// Builds the handler for Azure and writes target/functionapp and target/functionapp.zip.
    Package(package::PackageOptions),
    /// Sends the requests that schemathesis generates from the OpenAPI document to the app: no answer
    /// may be a 5xx, or differ from the document.
    Api {
        /// The time for which requests are sent.
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u32,
    },
    /// Tells the stories of the web page in Debian's Chromium, against `cargo local --demo`.
    Page {
        /// Also writes the pictures of the documents into docs/pictures/.
        #[arg(long)]
        pictures: bool,
    },
    /// Creates an app with `cargo tributary new` from the packages of the crates, tests it and uses it.
    NewApp {
        /// Also packages it with `cargo tributary package`, which rebuilds all for Azure: some 9
        /// minutes. It needs the tools of `cargo xtask package --install-tools`.
        #[arg(long)]
        package: bool,
    },
    /// Writes functions/ from the tables of functions in src/, the rows of the alerts' queries that name
    /// each projection, and those of docs/api.md.
    Functions {
        /// Changes nothing, and fails if a file would change.
        #[arg(long)]
        check: bool,
    },
    /// Measures the costs of requests, and compares them with the tables of docs/costs.md and
    /// docs/webstore.md.
    Costs {
        /// Writes the tables, and the figures of the README.
        #[arg(long)]
        write: bool,
    },
    /// Random commands under chaos, compared with a reference model; `--help` is its own.
    #[command(disable_help_flag = true)]
    Chaos {
        /// Arguments of the simulator: `cargo xtask chaos --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs foreign suites against the store: Microsoft's tests of the Python SDK, and scripts with the SDKs for
    /// JavaScript and Python. docs/conformance.md has the results.
    Conformance {
        /// `scripts`, `sync`, `async`, or files of the tests; and options of pytest.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measures the handler, or with `store` the local store; `--help` is its own.
    #[command(disable_help_flag = true)]
    Bench {
        /// Arguments of the bench: `cargo xtask bench --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Check { files } => check(files),
        Task::Package(options) => package::package(&options),
        Task::Api { seconds } => api(seconds),
        Task::Page { pictures } => page(pictures),
        Task::NewApp { package } => new_app::new_app(package),
        Task::Functions { check } => functions(check),
        Task::Costs { write } => costs(write),
        Task::Chaos { arguments } => beside_handler("tributary-chaos", &arguments),
        Task::Conformance { arguments } => conformance(&arguments),
        Task::Bench { arguments } => bench(&arguments),
    }
}

fn api(seconds: u32) -> anyhow::Result<()> {
    let (_local, api) = local::Local::demo()?;
    let mut schemathesis = Command::new(".ci/openapi/run.sh");
    let status = schemathesis.args([&api, &seconds.to_string()]).status();
    ensure!(status.context("run this in the workspace's root")?.success(), "schemathesis failed");
    Ok(())
}

fn page(with_pictures: bool) -> anyhow::Result<()> {
    let (_local, api) = local::Local::demo()?;
    let mut stories = Command::new("tests/page/run.sh");
    stories.arg(api.trim_end_matches("/api"));
    if with_pictures {
        let root = std::env::current_dir().context("the folder of the workspace is gone")?;
        stories.arg(root.join("docs/pictures"));
    }
    let status = stories.status().context("run this in the workspace's root")?;
    ensure!(status.success(), "a story of the page failed");
    Ok(())
}

fn check(only_files: bool) -> anyhow::Result<()> {
    docs::check()?;
    cargo(&["fmt", "--all", "--check"])?;
    functions(true)?;
    if only_files {
        return Ok(());
    }
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"])?;
    cargo(&[&["test", "--package", "tributary", "--tests", "--"], COMPLETENESS_TESTS].concat())
}

fn functions(check: bool) -> anyhow::Result<()> {
    let check_only: &[&str] = if check { &["--check"] } else { &[] };
    // Not `--package`: this shares one build with `cargo local`.
    let run = ["run", "--quiet", "--bin", "tributary", "--", "functions"];
    cargo(&[&run[..], check_only].concat())?;
    alerts::alerts(check)?;
    api_page::api_page(check)
}

fn costs(write: bool) -> anyhow::Result<()> {
    // One after the other: several write one page.
    let tests = ["test", "--package", "tributary", "--tests", "costs", "--", "--test-threads=1"];
    let mut command = Command::new(env!("CARGO"));
    if write {
        command.env("UPDATE_BUDGETS", "1");
    }
    let status = command.args(tests).status().context("cargo cannot be started")?;
    ensure!(status.success(), "the costs of some requests differ; the tests name them");
    if write { docs::write_costs() } else { Ok(()) }
}

/// The tests for missing parts of a function or a container: folder, row, budget, story, index.
const COMPLETENESS_TESTS: &[&str] =
    &["complete::", "functions::", "access::", "costs", "infra::", "secrets"];

fn bench(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((what, options)) if what == "store" => {
            let bench = ["bench", "--package", "tributary-cosmos-store", "--bench", "store", "--"];
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            cargo(&[&bench[..], &options].concat())
        }
        _ => beside_handler("tributary-bench", arguments),
    }
}

fn beside_handler(program: &str, arguments: &[String]) -> anyhow::Result<()> {
    // In one build: the program expects the handler beside itself.
    cargo(&["build", "--release", "--bin", "tributary", "--bin", program])?;
    let run = ["run", "--quiet", "--release", "--bin", program, "--"];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo(&[&run[..], &arguments].concat())
}

fn conformance(arguments: &[String]) -> anyhow::Result<()> {
    cargo(&["build", "--release", "--package", "tributary-cosmos-store"])?;
    let (_store, url) = local::Local::store()?;
    let mut suite = Command::new("crates/cosmos-store/tests/conformance/run.py");
    suite.args([&url, "target/conformance"]).args(arguments);
    let status = suite.status().context("run this in the workspace's root, with Python")?;
    ensure!(status.success(), "tests fail that are not known to fail");
    Ok(())
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

pub(crate) fn run(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    // Failing tests are on stdout, errors of the compiler on stderr.
    let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)];
    ensure!(output.status.success(), "{command:?} failed:\n{}", text.concat());
    Ok(output)
}
