//! The labels of guards in the source. `docs/guards.md` says what a label stands for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use super::removal;
use crate::tree::run;

const OPENING: &str = "guard: ";

/// The label of a guard.
pub(super) struct GuardLabel {
    pub(super) name: String,
    /// The path from the root of the workspace.
    pub(super) file: PathBuf,
    line: usize,
    guarded: Guarded,
}

enum Guarded {
    /// The code behind the label, which ends at this offset, and the code in its place.
    Code { label_end: usize, replacement: Option<String> },
    /// A setting of a JSON file, which has no comments: a pointer to the object, and the key.
    Setting { object: &'static str, key: &'static str },
}

/// Reads the labels of all files below a root.
pub(super) fn read(root: &Path) -> anyhow::Result<Vec<GuardLabel>> {
    let mut labels = vec![GuardLabel {
        name: "the trigger takes no text for a date".into(),
        file: "host.json".into(),
        line: 1,
        guarded: Guarded::Setting {
            object: "/extensions/cosmosDB/serializerSettings",
            key: "dateParseHandling",
        },
    }];
    let mut grep = Command::new("git");
    grep.arg("-C").arg(root).args(["grep", "--untracked", "--files-with-matches"]);
    grep.args(["// guard: ", "--", "*.rs", "*.bicep", "*.kql", ":!tools/xtask"]);
    for file in String::from_utf8(run(&mut grep)?.stdout)?.lines() {
        let source = fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
        labels.extend(labels_in(Path::new(file), &source).with_context(|| file.to_owned())?);
    }
    Ok(labels)
}

/// Returns the labels of a file.
pub(super) fn labels_in(file: &Path, source: &str) -> anyhow::Result<Vec<GuardLabel>> {
    let mut texts: Vec<LabelText> = Vec::new();
    let mut is_open = false;
    let mut end = 0;
    for (above, line) in source.split_inclusive('\n').enumerate() {
        end += line.len();
        let comment = line.trim().strip_prefix("// ");
        if let Some(text) = comment.and_then(|comment| comment.strip_prefix(OPENING)) {
            is_open = true;
            texts.push(LabelText { line: above + 1, end, text: text.to_owned() });
        } else if let (Some(more), Some(label), true) = (comment, texts.last_mut(), is_open) {
            label.end = end;
            label.text += " ";
            label.text += more.trim();
        } else {
            is_open = false;
        }
    }
    texts.into_iter().map(|text| text.parse(file)).collect()
}

/// The text of a label, and its lines.
struct LabelText {
    line: usize,
    end: usize,
    text: String,
}

impl LabelText {
    fn parse(self, file: &Path) -> anyhow::Result<GuardLabel> {
        let (name, replacement) = match self.text.split_once(" => ") {
            None => (self.text.as_str(), None),
            Some((name, code)) => {
                let code = code.strip_prefix('`').and_then(|code| code.strip_suffix('`'));
                let Some(code) = code else {
                    bail!("line {}: put the code behind `=>` between backticks", self.line)
                };
                (name, Some(code.to_owned()))
            }
        };
        Ok(GuardLabel {
            name: name.to_owned(),
            file: file.to_owned(),
            line: self.line,
            guarded: Guarded::Code { label_end: self.end, replacement },
        })
    }
}

impl GuardLabel {
    /// Returns the file and the line, as compilers print them.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// Returns the text of the file without the guard.
    pub(super) fn without(&self, source: &str) -> anyhow::Result<String> {
        let changed = match &self.guarded {
            Guarded::Setting { object, key } => removal::without_setting(source, object, key),
            Guarded::Code { label_end, replacement } => {
                let replacement = replacement.as_deref();
                if self.file.extension().is_some_and(|end| end == "rs") {
                    removal::without_code(source, *label_end, replacement)
                } else {
                    removal::without_line(source, *label_end, replacement)
                }
            }
        };
        changed.with_context(|| format!("{}: {}", self.place(), self.name))
    }
}
