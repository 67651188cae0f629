//! The commands of the documents: the programs of this workspace must understand those that the pages show.
//!
//! A command is given to its program with `--help` behind it. The program checks what stands before, and does
//! nothing. A command for a tool of others, such as `az`, is left out: it needs Azure, or is run by the tour.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, ensure};

use crate::{cargo, docs};

/// The beginnings of commands, each with the program that understands the rest, in `target/debug`. The first
/// that fits counts.
const PROGRAMS: [(&str, &str); 10] = [
    ("cargo xtask chaos", "tributary-chaos"),
    ("cargo xtask rename", "tributary-chaos rename"),
    ("cargo xtask bench", "tributary-bench"),
    ("cargo xtask", "xtask"),
    ("cargo local", "tributary-local"),
    ("cargo tributary", "cargo-tributary tributary"),
    ("cargo run --release -p model-bench --", "model-bench"),
    ("cargo run --", "tributary"),
    ("tributary-partition", "tributary-partition"),
    ("tributary", "tributary"),
];

/// The characters behind which a line is no more a simple command.
const ENDS: [&str; 6] = [" #", " | ", " > ", " && ", "; ", " & "];

/// The characters of a command that is shown in part, or that depends on commands before it.
const UNKNOWN: [char; 6] = ['…', '$', '<', '[', '{', '`'];

/// Lets the programs check all commands of the documents.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut commands = BTreeSet::new();
    for page in docs::pages(Path::new(""))? {
        let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let page = page.display().to_string();
        let of_page = commands_of(&text);
        commands.extend(of_page.map(|(program, arguments)| (program, arguments, page.clone())));
    }
    cargo(&["build", "--quiet", "--bins"])?;
    let mut faults = Vec::new();
    for (program, arguments, page) in &commands {
        let script = format!("target/debug/{program} {arguments} --help");
        let mut bash = Command::new("bash");
        let run = bash.args(["-c", &script]).stdin(Stdio::null()).output();
        let output = run.context("bash cannot be started")?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            let error = error.lines().next().unwrap_or_default();
            faults.push(format!("{page}: {program} {arguments}: {error}"));
        }
    }
    ensure!(faults.is_empty(), "the commands of the documents:\n{}", faults.join("\n"));
    println!("{} commands of the documents are understood", commands.len());
    Ok(())
}

/// Returns the commands in the `sh` blocks of a page, as programs and arguments.
fn commands_of(text: &str) -> impl Iterator<Item = (&'static str, String)> {
    let blocks = text.split("```").skip(1).step_by(2);
    let scripts = blocks.filter_map(|block| block.strip_prefix("sh\n"));
    let joined: Vec<String> = scripts.map(|script| script.replace("\\\n", " ")).collect();
    let lines: Vec<_> =
        joined.iter().flat_map(|script| script.lines()).filter_map(command).collect();
    lines.into_iter()
}

/// Returns the program and the arguments of a line, without settings before it and comments behind it.
fn command(line: &str) -> Option<(&'static str, String)> {
    let end = ENDS.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    let mut words = line[..end].trim();
    while let Some((first, rest)) = words.split_once(' ')
        && is_setting(first)
    {
        words = rest.trim_start();
    }
    if words.contains(UNKNOWN) {
        return None;
    }
    PROGRAMS.iter().find_map(|(begin, program)| {
        let rest = words.strip_prefix(begin)?;
        let is_whole = rest.is_empty() || rest.starts_with(' ');
        is_whole.then(|| (*program, rest.trim().to_owned()))
    })
}

/// Returns true for `NAME=value`, without blanks in the value.
fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_program_and_nothing_around_it() {
        let line = "Key=v cargo xtask chaos --seed 1 \\\n  --seeds 2   # a comment";
        let page = format!("`cargo local`\n```sh\n{line}\naz login\ntributary audit $x\n```\n");
        let commands: Vec<_> = commands_of(&page).collect();
        assert_eq!(commands, [("tributary-chaos", "--seed 1    --seeds 2".to_owned())]);
        assert_eq!(command("cargo localhost"), None);
        assert_eq!(command("cargo run -- audit > x"), Some(("tributary", "audit".to_owned())));
    }
}
