//! The parts of a function besides its code. A missing part is an error that names the file and
//! shows the text to add. `cargo xtask check` runs these tests; `docs/adding-a-function.md` lists
//! the files.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tributary_functions::http::HttpFunction;

use crate::{costs::tables::document, world::World};

/// Panics with all that is missing.
#[track_caller]
pub(crate) fn nothing_is_missing(missing: &[String]) {
    assert!(missing.is_empty(), "\n\n{}\n", missing.join("\n\n"));
}

/// A row or a sentence of `docs/costs.md` or `docs/webstore.md`, or `budget(…)` in the story.
#[test]
fn every_function_has_a_budget() {
    let tables = [document("docs/costs.md"), document("docs/webstore.md")].concat();
    let stories = files(&root().join("tests/it"));
    let mut missing = Vec::new();
    for HttpFunction { name, method, route, .. } in World::http_functions() {
        if route.starts_with("/api/dead-letters") {
            continue;
        }
        let story = format!("{}.rs", snake(name));
        let in_story = stories
            .iter()
            .filter(|file| file.ends_with(&story))
            .any(|file| fs::read_to_string(file).unwrap().contains("budget("));
        if !in_story && !tables.lines().any(|row| budgets(row, method.as_str(), route)) {
            let path = route.replace('{', "").replace("Id}", "");
            missing.push(format!(
                "{name} has no budget. Add to the story {story}:\n\
                 #[tokio::test]\n\
                 async fn it_costs_what_its_budget_says() {{\n    \
                     let world = given::blog().await;\n    \
                     let request = (\"{method}\", \"{path}\", None);\n    \
                     budget(&world, request, \"1 request, 1.00 RU: read users\").await;\n\
                 }}"
            ));
        }
    }
    nothing_is_missing(&missing);
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

/// A new file in a folder whose files are all modules is found when the binary is built, and `cargo` builds it only when
/// a file that it knows has changed.
#[test]
fn every_story_is_run() {
    let list = Command::new(env::current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let stories = root().join("tests/it");
    let mut missing = Vec::new();
    for file in files(&stories) {
        let text = fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(&stories).unwrap().with_extension("");
        let module = path.to_str().unwrap().replace('/', "::");
        let module = module.trim_end_matches("::mod");
        let has_tests =
            text.lines().any(|line| line == "#[test]" || line.starts_with("#[tokio::test"));
        if has_tests && !list.lines().any(|test| test.starts_with(&format!("{module}::"))) {
            let list = file.with_file_name("mod.rs");
            let finds_files = fs::read_to_string(&list).is_ok_and(|text| text.contains("automod"));
            let list = list.strip_prefix(root()).unwrap().display();
            let name = file.file_stem().unwrap().to_str().unwrap();
            missing.push(if finds_files {
                format!("The story {module} is not built yet. Run: touch {list}")
            } else {
                format!("The story {module} is not built. Add to {list}:\nmod {name};")
            });
        }
    }
    nothing_is_missing(&missing);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
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
