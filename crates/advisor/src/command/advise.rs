//! `tributary-partition advise`.

use std::{fs, path::Path, process::ExitCode};

use crate::{
    advice::Advice,
    output,
    selector::{DataCharacteristics, select},
};
use anyhow::Context;

use super::{
    advise_arguments::AdviseArguments,
    input, run_analysis,
    terminal::{json, print},
};

pub(crate) fn run(arguments: &AdviseArguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.characteristics {
        return characteristics(path, arguments.json);
    }
    let input = input::AdviseInput::read(arguments)?;
    if let Some(path) = &arguments.write_requests {
        write(path, &input.requests_as_lines()?)?;
    }
    let advice = run_analysis::run(&input, arguments)?;
    let advice = Advice { traffic: input.measured, ..advice };
    let sections = advice.sections();
    print(&if arguments.json { json(&advice)? } else { output::text(&sections) })?;
    if let Some(path) = &arguments.html {
        let best = advice.ranked.first().map(|best| best.report.estimates.strategy.to_string());
        let title = format!("Partition key: {}", best.unwrap_or_default());
        write(path, &output::html(&title, &sections))?;
    }
    let code = if advice.is_decided() { u8::from(advice.warns_of_current()) } else { 3 };
    Ok(ExitCode::from(code))
}

fn characteristics(path: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let text = input::text(path)?;
    let characteristics =
        DataCharacteristics::read(&text).with_context(|| path.display().to_string())?;
    let selection = select(&characteristics);
    print(&if as_json { json(&selection)? } else { output::text(&selection.sections()) })?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
