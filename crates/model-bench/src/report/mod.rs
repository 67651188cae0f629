//! What was measured, as tables, as JSON, and as one HTML file with charts.

mod tables;

mod charts;
mod html;

use std::{fs, io::Write, num::NonZero, path::Path, thread};

use anyhow::Context;
use serde::Serialize;
use serde_json::json;

use crate::{
    cli::Cli,
    measure::Row,
    request::{Request, Version},
    seed::published,
};

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) seed: u64,
    /// From the smallest to the largest.
    pub(crate) sizes: Vec<Size>,
}

/// Where it was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    processors: usize,
    processor: String,
    system: String,
    is_optimised: bool,
}

/// What was measured with a data set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Size {
    pub(crate) users: u32,
    pub(crate) density: f64,
    pub(crate) posts: u64,
    pub(crate) comments: u64,
    pub(crate) likes: u64,
    /// Of each container; unknown in an account.
    pub(crate) physical_partitions: Option<u32>,
    /// Of each model.
    pub(crate) load_seconds: Vec<f64>,
    pub(crate) rows: Vec<Row>,
}

impl Machine {
    /// This one.
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

    fn in_words(&self) -> String {
        let Self { processors, processor, system, is_optimised } = self;
        let build = if *is_optimised { "" } else { ", a debug build: its latencies mean nothing" };
        format!("{processors} × {processor}, {system}{build}")
    }
}

impl Size {
    /// What was measured of a request in a model.
    pub(crate) fn row(&self, request: Request, model: Version) -> Option<&Row> {
        self.rows.iter().find(|row| row.request == request && row.model == model)
    }

    fn in_words(&self) -> String {
        let Self { users, posts, comments, likes, .. } = self;
        let partitions = self.physical_partitions.map_or_else(String::new, |n| {
            format!(", {n} physical partition{} a container", if n == 1 { "" } else { "s" })
        });
        format!("{users} users, {posts} posts, {comments} comments, {likes} likes{partitions}")
    }
}

impl Report {
    /// Writes the report to where the options say.
    pub(crate) fn write(&self, cli: &Cli) -> anyhow::Result<()> {
        let text = if cli.markdown { tables::markdown(self) } else { tables::text(self) };
        // Leaves the colours out where they are not wanted.
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).context("the tables cannot be written")?;
        if let Some(path) = &cli.json {
            write(path, &serde_json::to_string_pretty(&self.json())?)?;
        }
        if let Some(path) = &cli.html {
            write(path, &html::page(self))?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let published = Request::ALL
            .map(|request| json!({ "request": request, "v1_v2_v3": published(request) }));
        json!({ "measured": self, "published": published })
    }

    fn is_sweep(&self) -> bool {
        self.sizes.len() > 1
    }

    fn has_throttled(&self) -> bool {
        self.sizes.iter().flat_map(|size| &size.rows).any(|row| row.throttled > 0)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
