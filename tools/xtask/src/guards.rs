//! Removes each guard of `guards.toml`, one at a time, and sees its tests fail.
//!
//! It works in a work tree at HEAD below the target directory, so it touches no file of yours, and an
//! interruption leaves nothing to tidy up.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::tree::{Tree, run};

/// The guards, beside this crate's manifest.
const GUARDS_FILE: &str = "tools/xtask/guards.toml";
/// The page with their table.
const GUARDS_PAGE: &str = "docs/guards.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guards {
    guard: Vec<Guard>,
}

/// A line of code that keeps an invariant, and the tests that fail without it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guard {
    name: String,
    /// The effect of its absence.
    without: String,
    file: PathBuf,
    /// The guard: a piece of text that is in the file once.
    text: String,
    /// The text in its place.
    instead: String,
    /// The names of the tests, as `cargo test` takes them.
    tests: Vec<String>,
}

/// Removes each guard whose name contains one of the filters; all guards without a filter.
pub(crate) fn guards(filters: &[String]) -> anyhow::Result<()> {
    let guards = read()?;
    for filter in filters {
        let is_there = guards.iter().any(|guard| guard.name.contains(filter));
        ensure!(is_there, "no guard of {GUARDS_FILE} has a name with {filter:?} in it");
    }
    let is_chosen = |guard: &&Guard| {
        filters.is_empty() || filters.iter().any(|filter| guard.name.contains(filter))
    };
    let guards: Vec<_> = guards.iter().filter(is_chosen).collect();
    let tree = Tree::at_head()?;
    eprintln!("With every guard in its place:");
    for suite in &SUITES {
        let tests: BTreeSet<&str> = guards.iter().flat_map(|guard| guard.tests_in(suite)).collect();
        if !tests.is_empty() {
            let failed = tree.failing(suite, &tests.into_iter().collect::<Vec<_>>())?;
            ensure!(failed.is_empty(), "these fail with every guard in its place: {failed:?}");
        }
    }
    let mut idle = 0;
    for guard in guards {
        let held = tree.without(guard)?;
        idle += usize::from(!held);
        println!("{} {}", if held { "held   " } else { "NOT HELD" }, guard.name);
    }
    ensure!(idle == 0, "{idle} guards can be removed and a test of theirs still passes");
    Ok(())
}

/// Checks that the table fits the code, and that `docs/guards.md` shows it.
pub(crate) fn check() -> anyhow::Result<()> {
    let guards = read()?;
    for guard in &guards {
        without(guard, Path::new("."))?;
        for test in &guard.tests {
            ensure!(guard.suite(test).has(test), "{}: there is no test {test}", guard.name);
        }
    }
    let page = fs::read_to_string(GUARDS_PAGE).context(GUARDS_PAGE)?;
    let table = table(&guards);
    ensure!(
        page.contains(&table),
        "{GUARDS_PAGE} does not show the table of {GUARDS_FILE}:\n\n{table}"
    );
    Ok(())
}

fn read() -> anyhow::Result<Vec<Guard>> {
    let text = fs::read_to_string(GUARDS_FILE).context("run this in the workspace's root")?;
    Ok(toml::from_str::<Guards>(&text).context(GUARDS_FILE)?.guard)
}

fn table(guards: &[Guard]) -> String {
    let mut table = String::from("| guard | without it | held by |\n| --- | --- | --- |\n");
    for Guard { name, without, tests, .. } in guards {
        let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
        table += &["| ", name, " | ", without, " | ", &tests.join(", "), " |\n"].concat();
    }
    table
}

/// Returns the guard's file without the guard.
fn without(guard: &Guard, tree: &Path) -> anyhow::Result<String> {
    let Guard { name, file, text, instead, .. } = guard;
    let source = fs::read_to_string(tree.join(file)).with_context(|| file.display().to_string())?;
    let times = source.matches(text.as_str()).count();
    ensure!(times == 1, "{name}: {} has this {times} times, not once:\n{text}", file.display());
    Ok(source.replace(text.as_str(), instead))
}

impl Guard {
    /// Returns the suite of one of the tests.
    fn suite(&self, test: &str) -> &'static Suite {
        let of = |suite: &&Suite| suite.sources.iter().any(|start| self.file.starts_with(start));
        let has_test = |suite: &&Suite| suite.sources.is_empty() && suite.has(test);
        SUITES.iter().find(of).or_else(|| SUITES.iter().find(has_test)).unwrap_or(&SUITES[0])
    }

    /// Returns the tests in a suite.
    fn tests_in(&self, suite: &Suite) -> Vec<&str> {
        let is_in = |test: &&str| self.suite(test).tests == suite.tests;
        self.tests.iter().map(String::as_str).filter(is_in).collect()
    }
}

/// Tests that are built into one binary.
struct Suite {
    /// The prefixes of the files whose guards it tests. Those of all other files, which are of the app and
    /// of the framework, are in the suites without prefixes.
    sources: &'static [&'static str],
    package: &'static str,
    target: &'static str,
    tests: &'static str,
}

impl Suite {
    /// Returns the file of a test.
    fn file(&self, test: &str) -> String {
        let modules = test.rsplit_once("::").map_or(test, |(modules, _)| modules);
        format!("{}/{}.rs", self.tests, modules.replace("::", "/"))
    }

    /// Returns true if the last part of a test's name is a function in the file that the others name.
    fn has(&self, test: &str) -> bool {
        let function = test.rsplit("::").next().unwrap_or(test);
        let source = fs::read_to_string(self.file(test)).unwrap_or_default();
        source.contains(&format!("fn {function}("))
    }
}

const SUITES: [Suite; 10] = [
    Suite { sources: &[], package: "tributary", target: "it", tests: "tests/it" },
    Suite { sources: &[], package: "tributary", target: "blog", tests: "tests/blog" },
    Suite { sources: &[], package: "tributary", target: "webstore", tests: "tests/webstore" },
    Suite { sources: &[], package: "tributary", target: "news", tests: "tests/news" },
    Suite {
        sources: &[],
        package: "tributary-testing",
        target: "it",
        tests: "crates/testing/tests/it",
    },
    Suite {
        sources: &[],
        package: "cargo-tributary",
        target: "rooms",
        tests: "crates/cargo-tributary/rooms/tests/it",
    },
    Suite {
        sources: &["crates/local/src/host"],
        package: "tributary-local",
        target: "host",
        tests: "crates/local/tests/host",
    },
    Suite {
        sources: &["crates/custom-handler"],
        package: "azure-functions-custom-handler",
        target: "it",
        tests: "crates/custom-handler/tests/it",
    },
    Suite {
        sources: &["crates/advisor/src/monitor/", "crates/advisor/src/command/sample.rs"],
        package: "tributary-partition",
        target: "sample",
        tests: "crates/advisor/tests/sample",
    },
    Suite {
        sources: &["crates/advisor/"],
        package: "tributary-partition",
        target: "validate",
        tests: "crates/advisor/tests/validate",
    },
];

impl Tree {
    /// Removes a guard, and returns true if all of its tests fail then.
    fn without(&self, guard: &Guard) -> anyhow::Result<bool> {
        let file = self.path.join(&guard.file);
        let source = fs::read_to_string(&file)?;
        fs::write(&file, without(guard, &self.path)?)?;
        let mut all_failed = Ok(true);
        for suite in &SUITES {
            let tests = guard.tests_in(suite);
            if matches!(all_failed, Ok(true)) && !tests.is_empty() {
                let failed = self.failing(suite, &tests);
                all_failed = failed
                    .map(|failed| tests.iter().all(|test| failed.iter().any(|one| one == test)));
            }
        }
        fs::write(&file, source)?;
        all_failed.with_context(|| guard.name.clone())
    }

    /// Runs these tests, and returns the names of those that fail.
    fn failing(&self, suite: &Suite, tests: &[&str]) -> anyhow::Result<Vec<String>> {
        let cargo = || {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["test", "--package", suite.package, "--test", suite.target]);
            cargo.env("CARGO_TARGET_DIR", &self.target).env("RUST_BACKTRACE", "0");
            cargo.current_dir(&self.path);
            cargo
        };
        run(cargo().arg("--no-run"))?;
        let output = cargo().args(["--", "--exact"]).args(tests).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let ended = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
        let ended: Vec<_> = ended.collect();
        if ended.len() != tests.len() {
            bail!("of the tests {tests:?} only these ran: {ended:?}");
        }
        let failed = ended.into_iter().filter(|(_, end)| end.starts_with("FAILED"));
        Ok(failed.map(|(test, _)| test.to_owned()).collect())
    }
}
