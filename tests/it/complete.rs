//! The parts of a function besides its code. A missing part is an error that names the file and
//! shows the text to add. `cargo xtask check` runs these tests; `docs/adding-a-function.md` lists
//! the files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tributary_functions::http::HttpFunction;

use crate::{
    budgets::{document, path},
    world::World,
};

/// A row or a sentence of `docs/costs.md` or `docs/webstore.md`, or `budget(…)` in the story.
#[test]
fn every_function_has_a_budget() {
    let tables = [document("docs/costs.md"), document("docs/webstore.md")].concat();
    let stories = files(&path("domains"));
    let mut missing = Vec::new();
    for HttpFunction { name, method, route, .. } in World::http_functions() {
        if ["/api/dead-letters", "/api/projections"].iter().any(|path| route.starts_with(path)) {
            continue;
        }
        let story = format!("{}.rs", snake(name));
        // An aggregate has one story for all of its functions, with the name of their items.
        let items = route.split('/').rfind(|part| !part.starts_with('{')).unwrap_or_default();
        let of_items = format!("{}.rs", items.replace('-', "_"));
        let in_story = stories
            .iter()
            .filter(|file| file.ends_with(&story) || file.ends_with(&of_items))
            .any(|file| fs::read_to_string(file).unwrap().contains("budget("));
        if !in_story && !tables.lines().any(|row| budgets(row, method.as_str(), route)) {
            let path = route.replace('{', "").replace("Id}", "");
            missing.push(format!(
                "{name} has no budget. Add to the story {story}:\n\
                 #[tokio::test]\n\
                 async fn the_requests_of_the_function_cost_their_budget() {{\n    \
                     let world = given::blog().await;\n    \
                     let request = (\"{method}\", \"{path}\", None);\n    \
                     budget(&world, request, \"1 request, 1.00 RU: read users\").await;\n\
                 }}"
            ));
        }
    }
    nothing_is_missing(&missing);
}

/// Panics with all that is missing.
#[track_caller]
pub(crate) fn nothing_is_missing(missing: &[String]) {
    assert!(missing.is_empty(), "\n\n{}\n", missing.join("\n\n"));
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns true if a line names this request: `PUT /things/{thingId}`, or a cell with `PUT` and a
/// later one with the path, whose beginning may be `…`.
fn budgets(row: &str, method: &str, route: &str) -> bool {
    let of_route = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        match path.strip_prefix('…') {
            Some(end) => route.ends_with(end),
            None => route.strip_prefix("/api") == Some(path),
        }
    };
    let mut quoted = row.split('`').skip(1).step_by(2);
    quoted.any(|text| match text.split_once(' ') {
        Some((verb, path)) => verb == method && of_route(path),
        None => row.contains(&format!("| {method} |")) && of_route(text),
    })
}

/// `PutUser` as the name of a file: `put_user`.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
