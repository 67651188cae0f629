//! The README's tour, as a stranger would type it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// What `cargo local` prints when everything is up.
#[derive(Deserialize)]
struct Ready {
    api: String,
}

/// `cargo local`, ended like by Ctrl-C.
struct Local(Child);

impl Drop for Local {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// Runs all commands of the tour and looks for what they promise.
pub(crate) fn tour() -> anyhow::Result<()> {
    let readme = fs::read_to_string("README.md").context("run this in the workspace's root")?;
    let mut local = Command::new(env!("CARGO"))
        .args(["local", "--demo", "--port", "0", "--cosmos-port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map(Local)
        .context("cargo cannot be started")?;
    let mut line = String::new();
    let stdout = local.0.stdout.take().context("cargo local has no output")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let ready: Ready = serde_json::from_str(&line).context("cargo local did not get ready")?;

    let mut shown = String::new();
    for block in blocks(&readme)? {
        let script = block.replace("localhost:7071/api", &ready.api);
        eprintln!("{script}");
        let output = Command::new("bash")
            .args(["-euc", &format!("curl() {{ command curl -sS \"$@\"; echo; }}\n{script}")])
            .stderr(Stdio::inherit())
            .output()
            .context("bash cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        eprintln!("{text}");
        ensure!(output.status.success(), "a command of the tour failed");
        shown.push_str(&text);
    }
    for promise in [
        "x-ms-request-charge",
        "\"userUsername\":\"Omar K.\"",
        "\"userUsername\":\"Nell B.\"",
        "204",
    ] {
        ensure!(shown.contains(promise), "the tour never shows {promise}");
    }
    let problems = shown.matches("urn:tributary:problem:").count();
    ensure!(problems == 1, "the tour shows {problems} problem documents; only its end should");
    Ok(())
}

/// The blocks of shell commands under "A tour".
fn blocks(readme: &str) -> anyhow::Result<Vec<&str>> {
    let tour = readme.split("\n## ").find(|section| section.starts_with("A tour"));
    let tour = tour.context("README.md has no tour")?;
    let blocks = tour.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    Ok(blocks.collect())
}
