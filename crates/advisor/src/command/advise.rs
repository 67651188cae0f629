//! `tributary-partition advise`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    advice::UniqueProperties,
    output,
    selector::{DataCharacteristics, select},
    traffic::Notation,
};
use anyhow::Context;
use clap::Args;
use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

use super::{input, print, run_analysis};

const DATA: &str = "Your data";
const KEYS: &str = "Keys";
const CONTAINER: &str = "The container";
const OUTPUT: &str = "Output";

/// Ranks partition keys for a container by the costs of your own items and requests.
///
/// Nothing leaves this machine: the items are a file, the requests are a file, the request units are
/// estimated by the formulas of Tributary's local Cosmos DB endpoint.
#[derive(Debug, Args)]
#[command(after_long_help = HELP_EXAMPLES)]
pub(crate) struct AdviseArguments {
    /// The items: JSON Lines, or a JSON array, of any number, also as gzip. Several files are one sample; `-` is stdin.
    #[arg(long, help_heading = DATA, value_name = "FILE", required_unless_present = "characteristics")]
    pub items: Vec<PathBuf>,

    /// The requests: JSON Lines, a kind of request a line. Without them keys are ranked by risks alone.
    #[arg(long, help_heading = DATA, value_name = "FILE")]
    pub requests: Option<PathBuf>,

    /// Measured traffic, as CSV or JSON: exports of CDBDataPlaneRequests, CDBPartitionKeyRUConsumption,
    /// CDBPartitionKeyStatistics and CDBQueryRuntimeStatistics, or log lines of Tributary's handler.
    ///
    /// Without --requests the kinds of requests come from it. With --requests it gives a frequency to each
    /// kind that is named as a function of the handler.
    #[arg(long, help_heading = DATA, value_name = "FILE", num_args = 1..)]
    pub traffic: Vec<PathBuf>,

    /// The days of --traffic, where its rows have no times.
    #[arg(long, help_heading = DATA, value_name = "N", requires = "traffic", value_parser = positive)]
    pub days: Option<f64>,

    #[command(flatten)]
    pub notation: Notation,

    /// Choose without data, by its characteristics: a TOML file in which each line is optional.
    #[arg(long, help_heading = DATA, value_name = "FILE", conflicts_with_all = ["items", "requests", "traffic", "candidate"])]
    pub characteristics: Option<PathBuf>,

    /// A key to compare, such as /userId or '/tenantId,/date by month'. Without any they are proposed.
    #[arg(long, help_heading = KEYS, value_name = "KEY")]
    pub candidate: Vec<KeyStrategy>,

    /// The current key of the container. A warning about it is exit code 1.
    #[arg(long, help_heading = KEYS, value_name = "KEY")]
    pub current: Option<KeyStrategy>,

    /// The name of the container in the output, in --containers and in --traffic.
    #[arg(long, help_heading = CONTAINER, value_name = "NAME")]
    pub container: Option<String>,

    /// Take the indexing policy, and the key as --current, from the container's entry in this file.
    #[arg(long, help_heading = CONTAINER, value_name = "FILE", requires = "container")]
    pub containers: Option<PathBuf>,

    /// Properties whose values together come once in the container, such as /tenantId,/email: a unique key or,
    /// where the key cannot have one, a reservation.
    #[arg(long, help_heading = CONTAINER, value_name = "PATHS")]
    pub unique: Vec<UniqueProperties>,

    /// Items of the whole container, when the file is a sample of it.
    #[arg(long, help_heading = CONTAINER, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub items_in_container: Option<u64>,

    /// The draw of the file from the container of --items-in-container: `items`, each at random; `keys`,
    /// whole logical partitions of --current at random; or a key, such as /userId, whole values of it.
    ///
    /// A container that is to grow: `items` where each key gets more of them, `keys` where keys are added.
    #[arg(long, help_heading = CONTAINER, value_name = "HOW", requires = "items_in_container")]
    pub sampled: Option<String>,

    /// New items a day, for the time until a limit is reached. Otherwise the creates of --requests.
    #[arg(long, help_heading = CONTAINER, value_name = "N", value_parser = number)]
    pub items_per_day: Option<f64>,

    /// Physical partitions of the container. The default is the number that its size and its request units need.
    #[arg(long, help_heading = CONTAINER, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub physical_partitions: Option<u32>,

    /// The property with the time of creation, for hot partitions over time. Otherwise the time that most
    /// items have and that is named like one; or /_ts, unless all items were written within a day.
    #[arg(long, help_heading = CONTAINER, value_name = "PATH")]
    pub time: Option<PropertyPath>,

    /// Print JSON.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,

    /// Write the report as one HTML file, with charts.
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", conflicts_with = "characteristics")]
    pub html: Option<PathBuf>,

    /// Write the requests that were used, to change and use them as --requests.
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub write_requests: Option<PathBuf>,
}

const HELP_EXAMPLES: &str = "\
A request is a line such as
  {\"kind\": \"posts of a user\", \"operation\": \"query\", \"filters\": {\"/userId\": \"?\", \"/createdAt\": {\"last\": \"30 days\"}},
   \"limit\": 20, \"orderBy\": \"/createdAt desc\", \"frequency\": {\"perDay\": 12000}}
  operation  read, query, create, replace, upsert, patch, delete, transaction
  filters    what the request knows: \"?\" is a value drawn from the sample

A key is written as
  /userId                          the value of a property
  /tenantId,/userId                two levels of a hierarchical key, of at most three
  /userId+/createdAt by month      parts joined; by day, week, month, quarter, year
  /id in 100 buckets               a bucket of a hash

Examples
  tributary-partition advise --items items.jsonl --requests requests.jsonl --html report.html
  tributary-partition advise --items items.jsonl --requests requests.jsonl --candidate /userId --candidate /tenantId
  tributary-partition advise --items items.jsonl --traffic export.csv --current /userId --write-requests requests.jsonl
  tributary-partition advise --characteristics posts.toml

posts.toml may have
  [volume]   items = 5_000_000, gigabytes = 40, items-per-entity-per-day = 12
  [load]     writes-per-second = 300 (or high-write-volume = true), high-query-load = false
  [access]   temporal = true, uniform = false, by-id-only, analytics-and-real-time
  [tenants]  count = 400, largest-gigabytes = 3
  [paths]    id = \"/id\", entity = \"/userId\", time = \"/createdAt\", tenant = \"/tenantId\"

Exit codes
  0  advice was given
  1  --current has a warning
  2  the input cannot be used
  3  the sample does not decide";

pub(super) fn number(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or("write a number from 0 on")
}

fn positive(text: &str) -> Result<f64, &'static str> {
    number(text).ok().filter(|number| *number > 0.0).ok_or("write a number above 0")
}

pub(crate) fn run(arguments: &AdviseArguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.characteristics {
        let characteristics = DataCharacteristics::read(&input::text(path)?);
        let characteristics = characteristics.with_context(|| path.display().to_string())?;
        let selection = select(&characteristics)?;
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
        let best = advice.ranked.first().map(|best| best.strategy().to_string());
        let title = format!("Partition key: {}", best.unwrap_or_default());
        write(path, &output::html(&title, &sections))?;
    }
    let code = if advice.is_decided() { u8::from(advice.warns_of_current()) } else { 3 };
    Ok(ExitCode::from(code))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
