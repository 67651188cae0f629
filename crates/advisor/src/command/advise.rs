//! `tributary-partition advise`.

use std::{fs, io::Write, process::ExitCode};

use anyhow::Context;
use serde::Serialize;
use tributary_partition::{
    advice::Advice,
    output,
    selector::{DataCharacteristics, select},
    traffic::TrafficSummary,
};

use super::{advise_arguments::AdviseArguments, input, run_analysis};

/// The printed JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdviceOutput<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<&'a TrafficSummary>,
}

pub(crate) fn run(arguments: &AdviseArguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.characteristics {
        return characteristics(path, arguments.json);
    }
    let mut input = input::AdviseInput::read(arguments)?;
    if let Some(path) = &arguments.write_requests {
        write(path, &input.requests_as_lines()?)?;
    }
    let advice = run_analysis::run(&input, arguments)?;
    if let (Some(measured), Some(current)) = (&mut input.measured, advice.current()) {
        measured.compare(&current.report.estimates, &input.requests);
    }
    let text = if arguments.json {
        json(&AdviceOutput { advice: &advice, traffic: input.measured.as_ref() })?
    } else {
        let mut text = output::text(&advice);
        if let Some(measured) = &input.measured {
            text += &output::measured(measured);
        }
        text
    };
    print(&text)?;
    if let Some(path) = &arguments.html {
        write(path, &output::html(&advice))?;
    }
    Ok(ExitCode::from(match () {
        () if !advice.is_decided() => 3,
        () => u8::from(advice.warns_of_current()),
    }))
}

fn characteristics(path: &std::path::Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let text = input::text(path)?;
    let characteristics =
        DataCharacteristics::read(&text).with_context(|| path.display().to_string())?;
    let selection = select(&characteristics);
    print(&if as_json { json(&selection)? } else { selection.to_string() })?;
    Ok(ExitCode::SUCCESS)
}

fn json(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn write(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Prints to stdout. A closed pipe, such as that of `head`, is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be printed")
        }
        _ => Ok(()),
    }
}
