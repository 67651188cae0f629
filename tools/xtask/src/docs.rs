//! Checks of the documents: the targets of links, pages without a link to them, figures that two pages
//! show.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, ensure};

/// Checks the documents of the workspace whose root is the current directory.
pub(crate) fn check() -> anyhow::Result<()> {
    let root = Path::new("");
    let mut faults = Vec::new();
    let mut linked = BTreeSet::new();
    for page in pages(root)? {
        let text = read(&page)?;
        for link in links(&text) {
            match target(&page, link) {
                Err(fault) => faults.push(format!("{}: {link}: {fault}", page.display())),
                Ok(Some(file)) if file != page => drop(linked.insert(file)),
                Ok(_) => {}
            }
        }
    }
    let book = read(Path::new("mkdocs.yml"))?;
    for page in markdown_files(&root.join("docs"))? {
        if !linked.contains(&page) {
            faults.push(format!("{}: no other page links to it", page.display()));
        }
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        if !book.lines().any(|line| line.ends_with(&format!(": {name}"))) {
            faults.push(format!("{}: the book does not have it: mkdocs.yml", page.display()));
        }
    }
    for picture in fs::read_dir(root.join("docs/pictures"))? {
        let picture = root.join("docs/pictures").join(picture?.file_name());
        if !linked.contains(&picture) {
            faults.push(format!("{}: no page shows it", picture.display()));
        }
    }
    faults.extend(cost_differences(
        &read(Path::new("README.md"))?,
        &read(Path::new("docs/costs.md"))?,
    ));
    faults.extend(decision_faults(&root.join("docs/adr"))?);
    ensure!(faults.is_empty(), "the documents:\n{}", faults.join("\n"));
    Ok(())
}

fn read(page: &Path) -> anyhow::Result<String> {
    fs::read_to_string(page).with_context(|| format!("{} cannot be read", page.display()))
}

/// Returns all pages whose links are checked.
pub(crate) fn pages(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut pages = markdown_files(&root.join("."))?;
    pages.extend(markdown_files(&root.join("docs"))?);
    pages.extend(markdown_files(&root.join("docs/adr"))?);
    for crates in ["crates", "tools"] {
        for entry in fs::read_dir(root.join(crates))? {
            pages.extend(markdown_files(&entry?.path())?);
        }
    }
    Ok(pages.iter().map(|page| normal(page)).collect())
}

fn markdown_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<BTreeSet<_>>>()?;
    Ok(files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "md")).collect())
}

/// Returns the targets of the links of a page, without those in blocks of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(|prose| {
        prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
    })
}

/// Returns the file that a link leads to, if it leads into the repository.
fn target(page: &Path, link: &str) -> Result<Option<PathBuf>, String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = match file {
        "" => page.to_owned(),
        file => normal(&page.parent().unwrap_or(Path::new("")).join(file)),
    };
    if !file.exists() {
        return Err("there is no such file".to_owned());
    }
    if !heading.is_empty() {
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        if !headings(&text).contains(heading) {
            return Err("there is no such heading".to_owned());
        }
    }
    Ok(Some(file))
}

/// Returns `path` without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            component => path.push(component),
        }
        path
    })
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn headings(text: &str) -> BTreeSet<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let mut anchors = BTreeSet::new();
    for title in prose.lines().filter_map(|line| line.strip_prefix('#')) {
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut unique = anchor.clone();
        let mut twins = 0;
        while !anchors.insert(unique.clone()) {
            twins += 1;
            unique = format!("{anchor}-{twins}");
        }
    }
    anchors
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

/// Compares the figures of the README's table of requests with the table of `docs/costs.md`.
fn cost_differences(readme: &str, costs: &str) -> Vec<String> {
    let n = readme.lines().filter(|line| is_request(line)).count();
    let missing = (n != 10).then(|| format!("README.md: {n} requests in the table instead of 10"));
    let wanted = with_costs(readme, costs);
    let others = readme.lines().zip(wanted.lines()).filter(|(is, wanted)| is != wanted);
    let others = others.map(|(is, wanted)| {
        format!("README.md: {is:?} is {wanted:?} in docs/costs.md; run cargo xtask costs --write")
    });
    missing.into_iter().chain(others).collect()
}

/// Returns true for a row of a request, `| C1 | …`.
fn is_request(line: &str) -> bool {
    line.starts_with("| C") || line.starts_with("| Q")
}

/// Finds decisions without status, date or an entry in the index.
fn decision_faults(folder: &Path) -> anyhow::Result<Vec<String>> {
    let index = read(&folder.join("README.md"))?;
    let mut faults = Vec::new();
    for file in markdown_files(folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        if !index.contains(&format!("]({name})")) {
            faults.push(format!("{}: not in docs/adr/README.md", file.display()));
        }
        let text = read(&file)?;
        for part in [
            "**Status:** ",
            "**Date:** 20",
            "\n## Context\n",
            "\n## Decision\n",
            "\n## Consequences\n",
        ] {
            if !text.contains(part) {
                faults.push(format!("{}: has no {:?}", file.display(), part.trim()));
            }
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::{cost_differences, headings, links};

    #[test]
    fn links_in_code_are_no_links() {
        let text = "[a](b.md) and\n```sh\n[c](d.md)\n```\n[e](f.md#g).";
        assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "f.md#g"]);
    }

    #[test]
    fn headings_have_the_anchors_that_github_makes() {
        let text = "# Users: `Authentication__Mode=easyauth`\n## What it costs\n### What it costs\n```\n# no\n```\n";
        let anchors = ["users-authentication__modeeasyauth", "what-it-costs", "what-it-costs-1"];
        assert!(headings(text).iter().eq(anchors), "{:?}", headings(text));
    }

    #[test]
    fn a_figure_that_differs_from_the_page_of_costs_is_a_fault() {
        let ids = || (1..=4).map(|n| format!("C{n}")).chain((1..=6).map(|n| format!("Q{n}")));
        let rows = |end: &str| ids().map(|id| format!("| {id} | what {end} |")).collect::<Vec<_>>();
        let readme = rows("| route | function | 1 | 1.00").join("\n");
        let costs = rows("| 1 | 1.00 | read").join("\n");
        assert!(cost_differences(&readme, &costs).is_empty());
        let costs = costs.replacen("1.00", "2.00", 1);
        let faults = cost_differences(&readme, &costs);
        assert!(faults.len() == 1 && faults[0].contains("C1"), "{faults:?}");
    }
}
