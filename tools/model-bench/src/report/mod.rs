//! The common part of the reports of both families of models: the machine, and the columns.

pub(crate) mod columns;

use std::{fs, io::Write, num::NonZero, path::Path, thread};

use anyhow::Context;
use serde::Serialize;

use crate::output::OutputOptions;

/// The machine of a measurement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    processors: usize,
    processor: String,
    system: String,
    is_optimised: bool,
}

impl Machine {
    /// Returns this machine.
    pub(crate) fn this() -> Self {
        let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model.map(|line| line.trim_start_matches([' ', '\t', ':']));
        Self {
            processors: thread::available_parallelism().map_or(1, NonZero::get),
            processor: model.unwrap_or(std::env::consts::ARCH).to_owned(),
            system: std::env::consts::OS.to_owned(),
            is_optimised: !cfg!(debug_assertions),
        }
    }

    pub(crate) fn in_words(&self) -> String {
        let Self { processors, processor, system, is_optimised } = self;
        let build = if *is_optimised { "" } else { ", a debug build: its latencies mean nothing" };
        format!("{processors} × {processor}, {system}{build}")
    }
}

/// A report of a family of models in all its forms.
pub(crate) trait Forms {
    /// Returns the tables for a terminal.
    fn text(&self) -> String;
    /// Returns the tables in the form of the docs, with the command and the machine.
    fn markdown(&self) -> String;
    /// Returns all numbers.
    fn json(&self) -> serde_json::Value;
    /// Returns one HTML file with charts.
    fn html(&self) -> String;

    /// Writes the report to the outputs of the options.
    fn write(&self, output: &OutputOptions) -> anyhow::Result<()> {
        let text = if output.markdown { self.markdown() } else { self.text() };
        // The stream removes the colours if the output has none.
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).context("the tables cannot be written")?;
        if let Some(path) = &output.json {
            write(path, &serde_json::to_string_pretty(&self.json())?)?;
        }
        if let Some(path) = &output.html {
            write(path, &self.html())?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
