//! The check that each test program has all its stories.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::budgets::path;

/// Panics with all that is missing.
#[track_caller]
pub(crate) fn nothing_is_missing(missing: &[String]) {
    assert!(missing.is_empty(), "\n\n{}\n", missing.join("\n\n"));
}

/// A new file in a folder whose files are all modules is found when the binary is built, and `cargo` builds it only when
/// a file that it knows has changed.
#[test]
fn every_story_is_run() {
    let list = Command::new(env::current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let stories = path("tests").join(env!("CARGO_CRATE_NAME"));
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
            let list = list.strip_prefix(super::budgets::path("")).unwrap().display();
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

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
