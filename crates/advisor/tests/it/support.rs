//! A folder with files, and the output of the binary in it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the binary with these arguments, to run in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-partition"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    pub(crate) fn advise(&self, arguments: &[&str]) -> CommandOutput {
        self.command(&[&["advise"], arguments].concat()).output().unwrap().into()
    }

    pub(crate) fn advise_line(&self, line: &str) -> CommandOutput {
        self.advise(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Expects that `advise` with the words of a line is refused with all of `with`.
    #[track_caller]
    pub(crate) fn refused(&self, line: &str, with: &[&str]) {
        let output = self.advise_line(line);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{line}: {}", output.err);
        for text in with {
            assert!(output.err.contains(text), "{line}: {text}: {}", output.err);
        }
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns a number between 0 and 1 that only depends on `n` and on what it is drawn for.
pub(crate) fn random(n: u64, of: u64) -> f64 {
    let mixed = (n ^ (of << 40)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
