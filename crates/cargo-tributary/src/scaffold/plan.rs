//! The changes of files: planned and checked first, then written.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};

use crate::scaffold::source::{self, NoPlace};

/// The planned changes below a folder.
pub(crate) struct WritePlan {
    root: PathBuf,
    changes: BTreeMap<PathBuf, FileChange>,
    by_hand: Vec<String>,
}

struct FileChange {
    before: Option<String>,
    after: String,
}

impl WritePlan {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), changes: BTreeMap::new(), by_hand: Vec::new() }
    }

    /// Plans a new file. A file that exists is never overwritten.
    pub(crate) fn create(&mut self, path: impl Into<PathBuf>, text: &str) -> anyhow::Result<()> {
        let path = path.into();
        ensure!(
            !self.root.join(&path).exists() && !self.changes.contains_key(&path),
            "{} exists already; nothing was written",
            path.display()
        );
        let after = if is_rust(&path) { self.formatted(text)? } else { text.to_owned() };
        self.changes.insert(path, FileChange { before: None, after });
        Ok(())
    }

    /// Plans an edit of a file. Where it finds no place, its line is to be added by hand, at `place`.
    pub(crate) fn edit(
        &mut self,
        path: impl Into<PathBuf>,
        (place, line): (&str, &str),
        edit: impl FnOnce(&str) -> Result<String, NoPlace>,
    ) -> anyhow::Result<()> {
        let path = path.into();
        let text = self.text(&path)?;
        let Ok(mut after) = edit(&text) else {
            self.by_hand.push(format!("In {}, {place}, add:\n    {line}", path.display()));
            return Ok(());
        };
        // Only a file that was formatted is formatted again.
        if is_rust(&path) && self.formatted(&text).is_ok_and(|formatted| formatted == text) {
            after = self.formatted(&after)?;
        }
        let before = match self.changes.remove(&path) {
            Some(change) => change.before,
            None => Some(text),
        };
        self.changes.insert(path, FileChange { before, after });
        Ok(())
    }

    /// Plans the declaration of a new module.
    pub(crate) fn add_module(
        &mut self,
        file: &Path,
        (visibility, name): (&str, &str),
    ) -> anyhow::Result<()> {
        let exists = source::has_module(&self.text(file)?, name);
        ensure!(!exists, "{} has a module {name} already; nothing was written", file.display());
        let line = format!("{visibility}mod {name};");
        self.edit(file, ("among the modules", &line), |text| {
            source::add_module(text, (visibility, name))
        })
    }

    /// Returns the text of a file, as planned so far.
    pub(crate) fn text(&self, path: &Path) -> anyhow::Result<String> {
        if let Some(change) = self.changes.get(path) {
            return Ok(change.after.clone());
        }
        let file = self.root.join(path);
        fs::read_to_string(&file).with_context(|| file.display().to_string())
    }

    /// Writes all changes and prints them, or only prints them. Returns true if the app is complete: no line is
    /// left to be added by hand.
    pub(crate) fn carry_out(&self, dry_run: bool) -> anyhow::Result<bool> {
        for (path, change) in &self.changes {
            let word = if change.before.is_some() { "changed" } else { "new" };
            println!("{word:<8} {}", path.display());
            if dry_run {
                print!("{}", lines_of(change));
            } else {
                let file = self.root.join(path);
                if let Some(folder) = file.parent() {
                    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
                }
                fs::write(&file, &change.after).with_context(|| file.display().to_string())?;
            }
        }
        for line in &self.by_hand {
            println!("by hand  {line}");
        }
        if dry_run {
            println!("Nothing was written.");
        }
        Ok(self.by_hand.is_empty() && !dry_run)
    }

    /// Returns Rust as rustfmt writes it in this app, or as it is where rustfmt is missing.
    fn formatted(&self, text: &str) -> anyhow::Result<String> {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--edition", "2024", "--quiet"]).current_dir(&self.root);
        rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut rustfmt) = rustfmt.spawn() else {
            return Ok(text.to_owned());
        };
        rustfmt.stdin.take().context("rustfmt takes no input")?.write_all(text.as_bytes())?;
        let output = rustfmt.wait_with_output()?;
        if !output.status.success() {
            bail!("rustfmt: {}\n{text}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Returns the lines of a new file, or those that an edit adds and removes.
fn lines_of(FileChange { before, after }: &FileChange) -> String {
    let lines = |sign: &str, text: &str, other: &str| -> String {
        let known: Vec<&str> = other.lines().collect();
        let own = text.lines().filter(|line| !known.contains(line));
        own.fold(String::new(), |text, line| text + "    " + sign + " " + line + "\n")
    };
    let before = before.as_deref().unwrap_or_default();
    lines("-", before, after) + &lines("+", after, before)
}
