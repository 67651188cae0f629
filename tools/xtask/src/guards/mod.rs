//! Removes each guard, one at a time, and sees its tests fail.
//!
//! A guard is labelled in the source, and has a row in the table of `docs/guards.md`. The tests run in a
//! work tree at HEAD below the target directory, so no file of yours is touched, and an interruption
//! leaves nothing to tidy up.

mod labels;
mod removal;
mod table;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context, bail, ensure};

use self::{
    labels::GuardLabel,
    table::{GUARDS_PAGE, GuardRow},
};
use crate::tree::{Tree, run};

/// Code that keeps an invariant, and the tests that fail without it.
struct Guard {
    label: GuardLabel,
    tests: Vec<String>,
}

/// Removes each guard whose name contains one of the filters; all guards without a filter.
pub(crate) fn guards(filters: &[String]) -> anyhow::Result<()> {
    let tree = Tree::at_head()?;
    let guards = read(&tree.path)?;
    for filter in filters {
        let is_there = guards.iter().any(|guard| guard.label.name.contains(filter));
        ensure!(is_there, "no guard has a name with {filter:?} in it");
    }
    let is_chosen = |guard: &&Guard| {
        filters.is_empty() || filters.iter().any(|filter| guard.label.name.contains(filter))
    };
    let guards: Vec<_> = guards.iter().filter(is_chosen).collect();
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
        let name = &guard.label.name;
        match tree.without(guard) {
            Ok(true) => println!("held     {name}"),
            Ok(false) => {
                idle += 1;
                println!("NOT HELD {name}");
            }
            // The guards behind it are tried all the same.
            Err(error) => {
                idle += 1;
                println!("NOT RUN  {name}: {error:#}");
            }
        }
    }
    ensure!(
        idle == 0,
        "{idle} guards can be removed and a test of theirs still passes, or have not run"
    );
    Ok(())
}

/// Checks that labels and table fit each other, that each guard can be removed, and that its tests exist.
pub(crate) fn check() -> anyhow::Result<()> {
    for guard in read(Path::new("."))? {
        guard.label.without(&fs::read_to_string(&guard.label.file)?)?;
        for test in &guard.tests {
            ensure!(guard.suite(test).has(test), "{}: there is no test {test}", guard.label.name);
        }
    }
    Ok(())
}

/// Reads the guards of a checkout, in the order of the table.
fn read(root: &Path) -> anyhow::Result<Vec<Guard>> {
    let page = fs::read_to_string(root.join(GUARDS_PAGE));
    let page = page.context("run this in the workspace's root")?;
    paired(table::rows(&page)?, labels::read(root)?)
}

/// Returns each row with its label.
fn paired(rows: Vec<GuardRow>, labels: Vec<GuardLabel>) -> anyhow::Result<Vec<Guard>> {
    let mut faults = Vec::new();
    let mut by_name = BTreeMap::new();
    for label in labels {
        if let Some(label) = by_name.insert(label.name.clone(), label) {
            faults.push(format!(
                "{}: another label has the name {:?}, too",
                label.place(),
                label.name
            ));
        }
    }
    let mut guards = Vec::new();
    let mut names = BTreeSet::new();
    for GuardRow { name, tests } in rows {
        if let Some(label) = by_name.remove(&name) {
            guards.push(Guard { label, tests });
        } else if names.contains(&name) {
            faults.push(format!("{GUARDS_PAGE} has two rows for {name:?}"));
        } else {
            faults.push(format!("{GUARDS_PAGE}: no code is labelled with // guard: {name}"));
        }
        names.insert(name);
    }
    for label in by_name.values() {
        faults.push(format!("{}: {GUARDS_PAGE} has no row for {:?}", label.place(), label.name));
    }
    ensure!(faults.is_empty(), "guards:\n{}", faults.join("\n"));
    Ok(guards)
}

impl Guard {
    /// Returns the suite of one of the tests.
    fn suite(&self, test: &str) -> &'static Suite {
        let of =
            |suite: &&Suite| suite.sources.iter().any(|start| self.label.file.starts_with(start));
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
        // A unit test stands in the file that it tests.
        let modules = if self.target == UNIT_TESTS {
            modules.strip_suffix("::tests").unwrap_or(modules)
        } else {
            modules
        };
        format!("{}/{}.rs", self.tests, modules.replace("::", "/"))
    }

    /// Returns true if the last part of a test's name is a function in the file that the others name.
    fn has(&self, test: &str) -> bool {
        let function = test.rsplit("::").next().unwrap_or(test);
        let source = fs::read_to_string(self.file(test)).unwrap_or_default();
        source.contains(&format!("fn {function}("))
    }
}

/// The target of unit tests.
const UNIT_TESTS: &str = "lib";

const SUITES: [Suite; 11] = [
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
        sources: &[],
        package: "tributary-functions",
        target: UNIT_TESTS,
        tests: "crates/tributary-functions/src",
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
        let file = self.path.join(&guard.label.file);
        let source = fs::read_to_string(&file)?;
        fs::write(&file, guard.label.without(&source)?)?;
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
        all_failed
    }

    /// Runs these tests, and returns the names of those that fail.
    fn failing(&self, suite: &Suite, tests: &[&str]) -> anyhow::Result<Vec<String>> {
        let cargo = || {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["test", "--package", suite.package]);
            match suite.target {
                UNIT_TESTS => cargo.arg("--lib"),
                target => cargo.args(["--test", target]),
            };
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
