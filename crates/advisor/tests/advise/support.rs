//! A folder with files, and the output of the binary for them.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

/// The output of the binary.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("tributary-partition-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    /// Runs `advise` with these arguments in the folder.
    pub(crate) fn advise(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `advise` with the words of a line.
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

    /// Runs `advise` with this text on its stdin.
    pub(crate) fn advise_with_stdin(&self, arguments: &[&str], stdin: &str) -> CommandOutput {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(stdin.as_bytes()).unwrap();
        drop(pipe);
        CommandOutput::of(child.wait_with_output().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-partition"));
        command.arg("advise").args(arguments).current_dir(&self.0);
        command
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl CommandOutput {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
