//! The commands on folders of their own.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

mod new;
mod new_parts;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod package;
mod zip;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A folder of its own, in Cargo's.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    /// Returns the texts of all files below a path, by their paths there.
    fn files(&self, path: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.0.join(path)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let below = Path::new(path).join(&name);
            let below = below.to_str().unwrap();
            if entry.path().is_dir() {
                let inner = self.files(below).into_iter();
                files.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
            } else {
                files.insert(name, self.read(below));
            }
        }
        files
    }

    /// Runs `cargo tributary` here.
    fn tributary(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tributary"));
        command.arg("tributary").args(arguments).current_dir(&self.0).output().unwrap()
    }
}
