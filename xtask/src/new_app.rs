//! Creates an app in an empty folder, as a user of the framework does, and uses it: format, tests, a note
//! that is written, read and counted under the stand-in for the host.
//!
//! The app is built in the target directory of the workspace, with the versions of its `Cargo.lock`: so
//! only the app itself is compiled.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
    thread::sleep,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::{cargo, local::Local, tree::run};

/// A name that is neither that of the template nor sorted like it.
const NAME: &str = "two-rivers";

/// How often the change feed is asked for, and with which pause.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// A folder outside of the workspace, which goes with the chore.
struct Folder(PathBuf);

impl Folder {
    fn create() -> anyhow::Result<Self> {
        let path = env::temp_dir().join(format!("tributary-new-app-{}", process::id()));
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn new_app() -> anyhow::Result<()> {
    let checkout = env::current_dir()?;
    let target = checkout.join("target");
    let folder = Folder::create()?;
    // One build for both, with the features of the whole workspace.
    cargo(&["build", "--bin", "cargo-tributary", "--bin", "tributary-local"])?;
    let app = folder.0.join(NAME);
    let mut new = Command::new(target.join("debug/cargo-tributary"));
    run(new.args(["tributary", "new"]).arg(&app).arg("--checkout").arg(&checkout))?;
    fs::copy("Cargo.lock", app.join("Cargo.lock"))?;

    let in_app = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(&app).env("CARGO_TARGET_DIR", &target);
        command
    };
    let cargo = Path::new(env!("CARGO"));
    run(in_app(cargo).args(["fmt", "--check"]))?;
    run(in_app(cargo).arg("test"))?;
    println!("{NAME}: its tests pass");

    let mut local = in_app(&target.join("debug/tributary-local"));
    let (_local, api) = Local::start(local.args(["--port", "0", "--cosmos-port", "0"]))?;
    let note = format!("{api}/owners/ann/notes/n1");
    let written = ask(&["-X", "PUT", "--json", r#"{"text": "Buy bread"}"#, &note])?;
    ensure!(written["text"] == "Buy bread", "a written note is answered by {written}");
    let read = ask(&[&note])?;
    ensure!(read == written, "{written} is read as {read}");
    let mut count = Value::Null;
    for _ in 0..ATTEMPTS {
        count = ask(&[&format!("{api}/owners/ann/note-count")])?;
        if count["noteCount"] == 1 {
            println!("{NAME}: a note was written, read and counted");
            return Ok(());
        }
        sleep(PAUSE);
    }
    bail!("the change feed does not bring the count: {count}")
}

fn ask(arguments: &[&str]) -> anyhow::Result<Value> {
    let output = run(Command::new("curl").args(["--silent", "--show-error"]).args(arguments))?;
    serde_json::from_slice(&output.stdout).context("the answer is not JSON")
}
