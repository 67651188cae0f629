//! `tributary-partition advise`.

use std::{fs, path::Path, process::ExitCode};

use crate::{
    output,
    selector::{DataCharacteristics, select},
};
use anyhow::Context;

use super::{advise_arguments::AdviseArguments, input, run_analysis, terminal::print};

pub(crate) fn run(arguments: &AdviseArguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.characteristics {
        let characteristics = DataCharacteristics::read(&input::text(path)?);
        let selection = select(&characteristics.with_context(|| path.display().to_string())?);
        print(&selection, &selection.sections(), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let question = input::question(arguments)?;
    if let Some(path) = &arguments.write_requests {
        let lines =
            question.requests.iter().map(|request| Ok(serde_json::to_string(request)? + "\n"));
        write(path, &lines.collect::<anyhow::Result<String>>()?)?;
    }
    let advice = run_analysis::run(&question, arguments)?;
    let sections = advice.sections();
    print(&advice, &sections, arguments.json)?;
    if let Some(path) = &arguments.html {
        let best = advice.ranked.first().map(|best| best.report.estimates.strategy.to_string());
        let title = format!("Partition key: {}", best.unwrap_or_default());
        write(path, &output::html(&title, &sections))?;
    }
    let code = if advice.is_decided() { u8::from(advice.warns_of_current()) } else { 3 };
    Ok(ExitCode::from(code))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
