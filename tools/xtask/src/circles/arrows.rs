//! Arrows between files.

use std::path::{Path, PathBuf};

/// A file of a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// The module of the file, from the root of the crate: `["blog", "stores"]`.
    pub(super) module: Vec<String>,
}

/// A file that names an item of another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: File,
    pub(super) to: File,
    pub(super) line: usize,
    /// The path in its written form: `crate::cosmos::ETag`.
    pub(super) named: String,
}

impl Arrow {
    /// Describes the arrow with paths relative to `root`.
    pub(super) fn text(&self, root: &Path) -> String {
        let Self { from, to, line, named } = self;
        let [from, to] = [from, to].map(|file| {
            let path = file.path.strip_prefix(root).unwrap_or(&file.path);
            path.display().to_string()
        });
        format!("{from}:{line}: `{named}` is in {to}")
    }
}
