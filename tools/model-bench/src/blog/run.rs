//! All sizes and all models, one after the other.

use std::{sync::Arc, time::Instant};

use super::{
    cli::BlogCli,
    data::{BlogShape, DataSet},
    load::load,
    measure::measure_all,
    models::{Model, V1, V2, V3},
    report::{BlogMeasurements, BlogReport},
    request::{BlogRequest, ModelVersion},
};
use crate::{progress::ProgressLine, report::Machine, store::ModelStore};

/// Runs the measurements of the options.
pub(crate) async fn run(cli: &BlogCli, store: &ModelStore) -> anyhow::Result<BlogReport> {
    let mut sizes = Vec::new();
    for shape in cli.shapes() {
        let data = Arc::new(DataSet::generate(shape)?);
        let mut size = size(cli, shape, &data);
        for version in ModelVersion::ALL {
            if cli.models.contains(&version) {
                match version {
                    ModelVersion::V1 => model::<V1>(cli, store, &data, &mut size).await?,
                    ModelVersion::V2 => model::<V2>(cli, store, &data, &mut size).await?,
                    ModelVersion::V3 => model::<V3>(cli, store, &data, &mut size).await?,
                }
            }
        }
        sizes.push(size);
    }
    Ok(BlogReport { command: cli.command(), machine: Machine::this(), seed: cli.seed, sizes })
}

/// Loads a model, measures it, and frees its memory or deletes its databases.
async fn model<M: Model + 'static>(
    cli: &BlogCli,
    store: &ModelStore,
    data: &Arc<DataSet>,
    size: &mut BlogMeasurements,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    let partitions = cli.partitions_for(size.users);
    let database = store.make(M::VERSION.database(), &M::containers()?, partitions).await?;
    let model = M::new(&database.cosmos)?;
    let what = |doing: &str| format!("{doing} {} with {} users", M::VERSION, size.users);
    let progress = ProgressLine::new(what("Loading the posts of"), size.posts);
    load(&model, &database, data, progress).await?;
    size.load_seconds.push(begin.elapsed().as_secs_f64());

    let progress = ProgressLine::new(what("Measuring"), BlogRequest::ALL.len() as u64);
    let rows = measure_all(&model, &database, data, cli.effort(), progress).await?;
    size.rows.extend(rows);
    if !cli.keep {
        store.delete_made().await?;
    }
    Ok(())
}

fn size(cli: &BlogCli, shape: BlogShape, data: &DataSet) -> BlogMeasurements {
    let (comments, likes) = data.reactions();
    BlogMeasurements {
        users: shape.users,
        density: shape.density,
        posts: data.posts.len() as u64,
        comments,
        likes,
        physical_partitions: cli.cosmos.is_none().then(|| cli.partitions_for(shape.users)),
        load_seconds: Vec::new(),
        rows: Vec::new(),
    }
}
