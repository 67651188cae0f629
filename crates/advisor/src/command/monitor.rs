//! `tributary-partition monitor`.

use std::{path::PathBuf, process::ExitCode};

use crate::traffic::{Notation, Traffic};
use crate::{SampleCounts, ValidationOptions, monitor::PartitionMetrics};
use anyhow::Context;
use clap::Args;
use cosmos_model::partitioning::KeyStrategy;

use super::{input, print, run_analysis};

/// Reports the sizes and the use of the partitions of a container: hot partitions, sizes, skew, the share of
/// cross-partition queries.
///
/// The items are a file (--items), or a random sample that is drawn from the live container first.
///
/// Exit code: 0; 1 when something is wrong; 2 for input that cannot be used.
#[derive(Debug, Args)]
pub(crate) struct MonitorArguments {
    /// The name of the container.
    #[arg(long, value_name = "NAME")]
    container: String,

    #[cfg(feature = "cosmos")]
    #[command(flatten)]
    draw: super::sample::DrawArguments,

    /// The items as JSON Lines, such as those of `sample`. Without a file they are drawn.
    #[arg(long, value_name = "FILE", requires = "current")]
    items: Vec<PathBuf>,

    /// The current key of the container of --items.
    #[arg(long, value_name = "KEY", requires = "items")]
    current: Option<KeyStrategy>,

    /// Items of the whole container, when --items is a random sample of it.
    #[arg(long, value_name = "N", requires = "items")]
    items_in_container: Option<u64>,

    /// The telemetry of the requests: lines of Tributary's handler, or rows of the diagnostic tables
    /// CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics, CDBQueryRuntimeStatistics, as CSV or JSON. Can
    /// be given several times.
    #[arg(long, value_name = "FILE")]
    telemetry: Vec<PathBuf>,

    /// How numbers of --telemetry are written: `true` for 1.000 and 2,83, `false` for 1,000 and 2.83.
    #[arg(long, value_name = "BOOL")]
    decimal_comma: Option<bool>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MonitorArguments) -> anyhow::Result<ExitCode> {
    let MonitorArguments { container, telemetry, .. } = arguments;
    let measured = match &telemetry[..] {
        [] => None,
        paths => {
            let notation = Notation { decimal_comma: arguments.decimal_comma, day_first: None };
            // Shares need no days.
            let traffic = Traffic::new(Some(container), Some(1.0), notation);
            Some(input::read(traffic, paths)?.partition_use().context("--telemetry")?)
        }
    };
    let (counts, items_in_container) = match &arguments.current {
        Some(key) => {
            let mut counts = counts_by(key);
            let files = run_analysis::open(&arguments.items)?;
            run_analysis::read(files, |items| counts.add(items))?;
            (counts, arguments.items_in_container)
        }
        None => of_live_container(arguments)?,
    };
    let metrics = PartitionMetrics::new(counts, items_in_container, measured);
    let metrics = metrics.context("there are no items")?;
    print(&metrics, &metrics.sections(), arguments.json)?;
    Ok(ExitCode::from(u8::from(metrics.has_warning())))
}

fn counts_by(key: &KeyStrategy) -> SampleCounts {
    SampleCounts::new(vec![key.clone()], Vec::new(), ValidationOptions::default())
}

#[cfg(feature = "cosmos")]
fn of_live_container(arguments: &MonitorArguments) -> anyhow::Result<(SampleCounts, Option<u64>)> {
    super::sample::block_on(async {
        let container = arguments.draw.open(&arguments.container).await?;
        let mut counts = counts_by(&container.key);
        let keep = |items: Vec<_>| {
            counts.add(&items);
            Ok(())
        };
        let drawn = arguments.draw.draw(&container, keep).await?;
        Ok((counts, Some(drawn.items_in_container())))
    })
}

#[cfg(not(feature = "cosmos"))]
fn of_live_container(_: &MonitorArguments) -> anyhow::Result<(SampleCounts, Option<u64>)> {
    anyhow::bail!("give --items: this build has no access to accounts (feature `cosmos`)")
}
