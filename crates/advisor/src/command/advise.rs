//! `tributary-partition advise`.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use tributary_partition::selector::{Characteristics, select};

/// Says which partition key fits.
///
/// Exit code: 0; 2 for input that cannot be used.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Choose without data, from what is known of it: a TOML file, all of whose lines are optional.
    #[arg(long, value_name = "FILE")]
    characteristics: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let path = &arguments.characteristics;
    let text =
        fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let characteristics =
        Characteristics::read(&text).with_context(|| path.display().to_string())?;
    let selection = select(&characteristics);
    let text = if arguments.json { json(&selection)? } else { selection.to_string() };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn json(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Prints to stdout. A reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be printed")
        }
        _ => Ok(()),
    }
}
