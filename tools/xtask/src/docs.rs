//! Checks of the documents: the links of those outside of the book, whose own links `mkdocs` checks, and the figures
//! of the README.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};

use crate::run;

pub(crate) fn check() -> anyhow::Result<()> {
    let mut faults = Vec::new();
    let pages = run(Command::new("git").args(["ls-files", "*.md", ":!docs/"]))?;
    for page in String::from_utf8(pages.stdout)?.lines().map(Path::new) {
        let text = read(page)?;
        let folder = page.parent().unwrap_or(Path::new(""));
        for link in links(&text).filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let (file, _) = link.split_once('#').unwrap_or((link, ""));
            if !folder.join(file).exists() {
                faults.push(format!("{}: {link}: there is no such file", page.display()));
            }
        }
    }
    let readme = read(Path::new("README.md"))?;
    let n = readme.lines().filter(|line| is_request(line)).count();
    if n != 10 || with_costs(&readme, &read(Path::new("docs/costs.md"))?) != readme {
        let write = "cargo xtask costs --write";
        faults.push(format!("README.md: not the ten requests and costs of docs/costs.md; {write}"));
    }
    ensure!(faults.is_empty(), "the documents:\n{}", faults.join("\n"));
    Ok(())
}

fn read(page: &Path) -> anyhow::Result<String> {
    fs::read_to_string(page).with_context(|| format!("{} cannot be read", page.display()))
}

/// Returns the targets of the links of a page, without those in blocks of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(|prose| {
        prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
    })
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}

/// Writes the figures of `docs/costs.md` into the README's table of requests.
pub(crate) fn write_costs() -> anyhow::Result<()> {
    let readme = read(Path::new("README.md"))?;
    let wanted = with_costs(&readme, &read(Path::new("docs/costs.md"))?);
    if wanted != readme {
        fs::write("README.md", wanted)?;
    }
    Ok(())
}

/// Returns the README with the figures of the page of costs: of each request its store requests and
/// request units, the last two cells of its row.
fn with_costs(readme: &str, costs: &str) -> String {
    let with_costs = |line: &str| {
        let here = cells(line);
        let there = costs.lines().map(cells).find(|row| is_request(line) && row[0] == here[0]);
        match (here.as_slice(), there.as_deref()) {
            ([texts @ .., _, _], Some([_, _, requests, request_units, ..])) => {
                format!("| {} | {requests} | {request_units} |\n", texts.join(" | "))
            }
            _ => format!("{line}\n"),
        }
    };
    readme.lines().map(with_costs).collect()
}

fn is_request(line: &str) -> bool {
    line.starts_with("| C") || line.starts_with("| Q")
}
