//! The layers of `src/`: a module imports lower ones only, no domain imports another, and no two
//! modules import each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

/// The shared modules from the lowest layer up. Modules of one layer may import each other as long as
/// that is no circle. Every other folder is a domain: above all of these, below [`ABOVE`].
const SHARED: &[&[&str]] = &[
    &["values"],
    &["telemetry"],
    &["cosmos"],
    &["engines", "projection"],
    &["audit"],
    &["http"],
    &["dead_letters", "config"],
    &["domain"],
];

/// What knows the domains.
const ABOVE: &[&str] = &["app", "lib", "main"];

/// A path to another module of the crate.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    file: PathBuf,
    line: usize,
    /// The module that has the path, from the root: `["blog", "stores"]`.
    from: Vec<String>,
    /// The path from the root: `["cosmos", "ETag"]`.
    to: Vec<String>,
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, from, to } = self;
        write!(f, "{}:{line}: {} imports {}", file.display(), from.join("::"), to.join("::"))
    }
}

#[test]
fn no_module_imports_a_higher_layer_or_another_domain() {
    let wrong: Vec<String> = imports_of_the_app()
        .iter()
        .filter(|import| !is_allowed(import))
        .map(ToString::to_string)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let imports = imports_of_the_app();
    let mut circles = Vec::new();
    // In each folder, between its files and folders.
    let folders: BTreeSet<&[String]> = imports
        .iter()
        .flat_map(|one| (0..one.from.len()).map(|depth| &one.from[..depth]))
        .collect();
    for folder in folders {
        let mut arrows: BTreeMap<&str, BTreeMap<&str, &Import>> = BTreeMap::new();
        for import in &imports {
            if let (Some([from, ..]), Some([to, ..])) =
                (import.from.strip_prefix(folder), import.to.strip_prefix(folder))
                && from != to
            {
                arrows.entry(from).or_default().entry(to).or_insert(import);
            }
        }
        circles.extend(circle(&arrows));
    }
    assert!(circles.is_empty(), "{}", circles.join("\n\n"));
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let source = r#"
        use crate::{
            cosmos::{ETag, Reads}, // crate::comment
            http,
        };
        use super::values::Timestamp;
        fn f() { let _ = crate::app::UNMATCHED; let _ = "crate::text"; let _: &'a str = ""; }
        mod tests { use super::super::groups::Groups; use super::near; }
    "#;
    let from = ["blog", "stores"].map(str::to_owned);
    let found = imports(Path::new("stores.rs"), &from, source);
    let found: Vec<_> = found.into_iter().map(|one| (one.line, one.to.join("::"))).collect();
    let expected = [
        (3, "cosmos::ETag"),
        (3, "cosmos::Reads"),
        (4, "http"),
        (6, "blog::values::Timestamp"),
        (7, "app::UNMATCHED"),
        (8, "blog::groups::Groups"),
        (8, "blog::stores::near"),
    ];
    assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
}

fn is_allowed(import: &Import) -> bool {
    let (from, to) = (import.from[0].as_str(), import.to[0].as_str());
    let layer = |module| SHARED.iter().position(|layer| layer.contains(&module));
    from == to
        || ABOVE.contains(&from)
        || match (layer(from), layer(to)) {
            (Some(from), Some(to)) => to <= from,
            // A domain knows what is shared.
            (None, Some(_)) => true,
            (_, None) => false,
        }
}

/// A circle of modules with one import for each of its arrows.
fn circle(arrows: &BTreeMap<&str, BTreeMap<&str, &Import>>) -> Option<String> {
    let mut left: BTreeSet<&str> = arrows.keys().copied().collect();
    // What imports nothing that is left is in no circle.
    while let Some(end) =
        left.iter().copied().find(|one| arrows[one].keys().all(|to| !left.contains(to)))
    {
        left.remove(end);
    }
    let (mut path, mut at) = (Vec::new(), left.first().copied()?);
    while !path.contains(&at) {
        path.push(at);
        at = arrows[at].keys().copied().find(|to| left.contains(to))?;
    }
    let begin = path.iter().position(|one| *one == at)?;
    let circle = [&path[begin..], &[at]].concat();
    let lines = circle.windows(2).map(|pair| arrows[pair[0]][pair[1]].to_string());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// All imports of `src/`, those through a re-export of a parent included.
fn imports_of_the_app() -> Vec<Import> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut all = Vec::new();
    let mut exports: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|name| name == "rs")) {
        let file = path.strip_prefix(&root).unwrap();
        let mut from: Vec<String> =
            file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        from.pop_if(|last| last == "mod");
        let source = fs::read_to_string(path).unwrap();
        for (name, target) in re_exports(&from, &source) {
            exports.insert([from.clone(), vec![name]].concat(), target);
        }
        all.extend(imports(file, &from, &source));
    }
    assert!(all.len() > 100, "{}", all.len());
    for import in &mut all {
        // What a parent re-exports is in a child.
        for _ in 0..4 {
            let Some(known) =
                (1..=import.to.len()).find(|&n| exports.contains_key(&import.to[..n]))
            else {
                break;
            };
            let target = exports[&import.to[..known]].clone();
            if import.from.starts_with(&import.to[..known - 1]) || import.to[0] != import.from[0] {
                import.to.splice(..known, target);
            } else {
                break;
            }
        }
    }
    // Declaring and re-exporting its children is what a parent is for.
    all.retain(|import| !import.to.starts_with(&import.from) || import.from[0] == "app");
    all
}

/// The names that a module re-exports from its children, with their paths.
fn re_exports(from: &[String], source: &str) -> Vec<(String, Vec<String>)> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].1 != "use" || at == 0 || !matches!(tokens[at - 1].1, "pub" | ")") {
            continue;
        }
        let begin = if tokens[at + 1].1 == "self" { at + 3 } else { at + 1 };
        if matches!(tokens[begin].1, "crate" | "super") {
            continue;
        }
        let mut paths = Vec::new();
        tree(&tokens, begin, &mut from.to_vec(), &mut paths);
        found.extend(paths.into_iter().filter_map(|(_, path)| Some((path.last()?.clone(), path))));
    }
    found
}

fn imports(file: &Path, from: &[String], source: &str) -> Vec<Import> {
    let tokens = tokens(source);
    let (mut found, mut depth, mut inner) = (Vec::new(), 0, Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let before = if at == 0 { "" } else { tokens[at - 1].1 };
        match tokens[at].1 {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inner.pop_if(|level| *level == depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next.1 == "{") => inner.push(depth),
            "crate" | "super" if before != "::" && before != "(" && before != "in" => {
                let mut base = if tokens[at].1 == "crate" { Vec::new() } else { from.to_vec() };
                let mut supers = 0;
                while tokens[at].1 == "super" {
                    (supers, at) = (supers + 1, at + 2);
                }
                if supers == 0 {
                    at += 2;
                }
                for _ in inner.len()..supers {
                    base.pop();
                }
                let mut paths = Vec::new();
                at = tree(&tokens, at, &mut base, &mut paths);
                found.extend(paths.into_iter().filter(|(_, to)| !to.is_empty()).map(
                    |(line, to)| Import { file: file.to_owned(), line, from: from.to_vec(), to },
                ));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads the rest of a path, with all that is in its braces; returns the token behind it.
fn tree(
    tokens: &[(usize, &str)],
    mut at: usize,
    base: &mut Vec<String>,
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let length = base.len();
    let mut line = tokens[at].0;
    loop {
        match tokens[at].1 {
            "{" => {
                at += 1;
                while tokens[at].1 != "}" {
                    at = tree(tokens, at, base, found);
                    at += usize::from(tokens[at].1 == ",");
                }
                base.truncate(length);
                return at + 1;
            }
            "self" | "*" => at += 1,
            name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                line = tokens[at].0;
                base.push(name.to_owned());
                at += 1;
            }
            // A generic argument, as in `crate::f::<T>`.
            _ => {}
        }
        match (tokens[at].1, tokens.get(at + 1).map(|next| next.1)) {
            ("::", Some(next)) if next != "<" => at += 1,
            ("as", _) => at += 2,
            _ => break,
        }
    }
    found.push((line, base.clone()));
    base.truncate(length);
    at
}

/// Names and signs with their lines, without comments and texts.
fn tokens(source: &str) -> Vec<(usize, &str)> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_literal = first == 'r' && (rest.starts_with("r\"") || rest.starts_with("r#\""));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_literal {
            let end = if rest.starts_with("r#") { "\"#" } else { "\"" };
            let begin = end.len() + 1;
            begin + rest[begin..].find(end).unwrap_or_default() + end.len()
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.unwrap_or_default() + 2
        } else if let Some(escaped) = rest.strip_prefix("'\\") {
            2 + escaped.chars().next().map_or(0, char::len_utf8)
        } else if first == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(3).map_or(rest.len(), |(end, _)| end)
        } else if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !first.is_whitespace()
            && !token.starts_with("//")
            && !matches!(first, '"' | '\'')
            && !is_literal
        {
            tokens.push((line, token));
        }
        line += token.matches('\n').count();
        rest = after;
    }
    tokens
}
