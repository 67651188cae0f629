//! The parts of a function app and their places.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use serde_json::Value;

/// The parts of an app that the Functions host takes, the executable aside.
#[derive(Debug, Clone)]
pub struct AppLayout {
    /// The folder with `host.json`.
    pub root: PathBuf,
    /// `customHandler.description.defaultExecutablePath` of `host.json`.
    pub executable: String,
    /// The folders with a `function.json`, by the function's name.
    pub functions: BTreeMap<String, PathBuf>,
}

impl AppLayout {
    /// Reads the app in a folder.
    ///
    /// # Errors
    /// When `host.json` is missing or names no executable, or a folder cannot be read.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let file = root.join("host.json");
        let text = fs::read(&file).with_context(|| format!("{} is needed", file.display()))?;
        let host: Value = serde_json::from_slice(&text).unwrap_or_default();
        let executable = &host["customHandler"]["description"]["defaultExecutablePath"];
        let executable = executable.as_str().with_context(|| {
            format!("{} must name customHandler.description.defaultExecutablePath", file.display())
        })?;
        let functions = function_folders(root)
            .with_context(|| format!("{} cannot be searched for functions", root.display()))?;
        Ok(Self { root: root.to_owned(), executable: executable.to_owned(), functions })
    }
}

/// Returns the child folders with a `function.json` (as staged and deployed), or those of `functions/` (as in a
/// project) when there are none.
///
/// # Errors
/// When the folder itself cannot be read.
pub fn function_folders(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let staged = children_with_function_json(root)?;
    if !staged.is_empty() {
        return Ok(staged);
    }
    Ok(children_with_function_json(&root.join("functions")).unwrap_or_default())
}

fn children_with_function_json(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let children = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let functions = children.filter(|path| path.join("function.json").is_file());
    let named = functions.filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, path))
    });
    Ok(named.collect())
}
