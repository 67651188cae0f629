//! All sizes and all architectures, one after the other.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};

use super::{
    architecture::Architecture,
    calls::Calls,
    cli::FeedsCli,
    data::{self, DataSet},
    report::{Capacity, FeedsMeasurements, FeedsReport, ShapeRow},
    router::Feeds,
    shape::RequestShape,
};
use crate::{
    measure::{Effort, measure},
    progress::ProgressLine,
    report::Machine,
};

/// The number of items that are written at a time.
const N_WRITERS: usize = 8;

/// Runs the measurements of the options.
pub(crate) async fn run(cli: &FeedsCli) -> anyhow::Result<FeedsReport> {
    let mut sizes = Vec::new();
    for shape in cli.shapes() {
        let data = Arc::new(DataSet::generate(shape)?);
        let mut size = size(cli, shape);
        for architecture in Architecture::ALL {
            if cli.architectures.contains(&architecture) {
                run_architecture(cli, architecture, &data, &mut size).await?;
            }
        }
        sizes.push(size);
    }
    Ok(FeedsReport { command: cli.command(), machine: Machine::this(), seed: cli.seed, sizes })
}

/// Loads an architecture, measures it, and frees its memory.
async fn run_architecture(
    cli: &FeedsCli,
    architecture: Architecture,
    data: &Arc<DataSet>,
    size: &mut FeedsMeasurements,
) -> anyhow::Result<()> {
    let what = |doing: &str| format!("{doing} {architecture} with {} months", size.months);
    let loading = what("Loading");
    let measuring = what("Measuring");
    let items_per_partition = cli.items_per_partition as usize;
    let feeds = Arc::new(Feeds::make(architecture, data, items_per_partition).await?);
    load(&feeds, data, ProgressLine::new(loading, data.items.len() as u64)).await?;
    size.capacities.push(Capacity::new(&feeds));

    let progress = ProgressLine::new(measuring, RequestShape::ALL.len() as u64);
    let (rows, by_step) = measure_all(&feeds, data, cli.effort(), progress).await?;
    size.rows.extend(rows);
    if !by_step.is_empty() {
        size.migrations.push((architecture, by_step));
    }
    Ok(())
}

/// Writes the data set to its containers at its `now`.
pub(super) async fn load(
    feeds: &Arc<Feeds>,
    data: &Arc<DataSet>,
    mut progress: ProgressLine,
) -> anyhow::Result<()> {
    let writes = stream::iter(0..data.items.len()).map(|index| {
        let feeds = Arc::clone(feeds);
        let data = Arc::clone(data);
        // A task of its own, so that the load uses more than one processor.
        let task = tokio::spawn(async move {
            let plan = data.items.get(index).context("an item is missing")?;
            feeds.load(&data, plan).await
        });
        async { task.await? }
    });
    let mut writes = writes.buffer_unordered(N_WRITERS);
    while writes.try_next().await?.is_some() {
        progress.add(1);
        // The requests of the load are not measured: the list would only grow.
        feeds.take_requests();
    }
    Ok(())
}

/// Returns the rows of an architecture, and the request units of each step of its migration.
async fn measure_all(
    feeds: &Feeds,
    data: &DataSet,
    effort: Effort,
    mut progress: ProgressLine,
) -> anyhow::Result<(Vec<ShapeRow>, BTreeMap<&'static str, f64>)> {
    let architecture = feeds.architecture;
    let mut rows = Vec::new();
    let mut by_step = BTreeMap::new();
    for shape in RequestShape::ALL.into_iter().filter(|shape| shape.is_of(architecture)) {
        let mut calls = Calls::new(shape, feeds, data);
        let measured = measure(&mut calls, effort).await;
        let measured = measured.with_context(|| format!("{} of {architecture}", shape.title()))?;
        rows.push(ShapeRow { shape, architecture, measured });
        let items = f64::from(calls.n_noted);
        by_step.extend(calls.by_step.into_iter().map(|(step, units)| (step, units / items)));
        progress.add(1);
    }
    Ok((rows, by_step))
}

fn size(cli: &FeedsCli, shape: data::FeedsShape) -> FeedsMeasurements {
    FeedsMeasurements {
        months: shape.months,
        items: shape.items,
        providers: shape.providers,
        items_per_partition: cli.items_per_partition,
        capacities: Vec::new(),
        rows: Vec::new(),
        migrations: Vec::new(),
    }
}
