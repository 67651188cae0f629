//! All sizes and all architectures, one after the other.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};

use super::{
    architecture::Architecture,
    calls::Calls,
    cli::FeedsCli,
    data::{self, DataSet},
    report::{Capacity, Report, Row, Size},
    router::Feeds,
    shape::Shape,
};
use crate::{
    measure::{Effort, measure},
    progress::Progress,
    report::Machine,
};

/// How many items are written at a time.
const WRITERS: usize = 8;

/// Measures what the options ask for.
pub(crate) async fn run(cli: &FeedsCli) -> anyhow::Result<Report> {
    let mut sizes = Vec::new();
    for shape in cli.shapes() {
        let data = Arc::new(DataSet::generate(shape)?);
        let mut size = size(cli, shape);
        for architecture in Architecture::ALL {
            if cli.architectures.contains(&architecture) {
                one(cli, architecture, &data, &mut size).await?;
            }
        }
        sizes.push(size);
    }
    Ok(Report { command: cli.command(), machine: Machine::this(), seed: cli.seed, sizes })
}

/// Loads an architecture, measures it, and gives its memory back.
async fn one(
    cli: &FeedsCli,
    architecture: Architecture,
    data: &Arc<DataSet>,
    size: &mut Size,
) -> anyhow::Result<()> {
    let what = |doing: &str| format!("{doing} {architecture} with {} months", size.months);
    let (loading, measuring) = (what("Loading"), what("Measuring"));
    let items_per_partition = cli.items_per_partition as usize;
    let feeds = Arc::new(Feeds::make(architecture, data, items_per_partition).await?);
    load(&feeds, data, Progress::new(loading, data.items.len() as u64)).await?;
    size.capacities.push(Capacity::of(&feeds));

    let progress = Progress::new(measuring, Shape::ALL.len() as u64);
    let (rows, by_step) = measure_all(&feeds, data, cli.effort(), progress).await?;
    size.rows.extend(rows);
    if !by_step.is_empty() {
        size.migrations.push((architecture, by_step));
    }
    Ok(())
}

/// Writes the data set to where it is at its `now`.
pub(super) async fn load(
    feeds: &Arc<Feeds>,
    data: &Arc<DataSet>,
    mut progress: Progress,
) -> anyhow::Result<()> {
    let writes = stream::iter(0..data.items.len()).map(|index| {
        let (feeds, data) = (Arc::clone(feeds), Arc::clone(data));
        // A task of its own, so that more than one processor is used.
        let task = tokio::spawn(async move {
            let plan = data.items.get(index).context("an item is missing")?;
            feeds.load(&data, plan).await
        });
        async { task.await? }
    });
    let mut writes = writes.buffer_unordered(WRITERS);
    while writes.try_next().await?.is_some() {
        progress.add(1);
        // Nobody asks what the load took: the list would only grow.
        feeds.take_requests();
    }
    Ok(())
}

/// The rows of an architecture, and the request units of each step of its migration.
async fn measure_all(
    feeds: &Feeds,
    data: &DataSet,
    effort: Effort,
    mut progress: Progress,
) -> anyhow::Result<(Vec<Row>, BTreeMap<&'static str, f64>)> {
    let (architecture, mut rows, mut by_step) = (feeds.architecture, Vec::new(), BTreeMap::new());
    for shape in Shape::ALL.into_iter().filter(|shape| shape.is_of(architecture)) {
        let mut calls = Calls::new(shape, feeds, data);
        let measured = measure(&mut calls, effort).await;
        let measured = measured.with_context(|| format!("{} of {architecture}", shape.title()))?;
        rows.push(Row { shape, architecture, measured });
        let items = f64::from(calls.n_noted);
        by_step.extend(calls.by_step.into_iter().map(|(step, units)| (step, units / items)));
        progress.add(1);
    }
    Ok((rows, by_step))
}

fn size(cli: &FeedsCli, shape: data::Shape) -> Size {
    Size {
        months: shape.months,
        items: shape.items,
        providers: shape.providers,
        items_per_partition: cli.items_per_partition,
        capacities: Vec::new(),
        rows: Vec::new(),
        migrations: Vec::new(),
    }
}
