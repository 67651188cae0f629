//! Bringing the data set into a model's containers.
//!
//! Users sign up by C1. All else is written in its final form, item by item: through the commands
//! it would take a request for each comment and each like, and another for each count.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use tributary_functions::cosmos::{Container, Cosmos, Reason};

use super::{
    data::DataSet,
    models::{Item, Model},
};
use crate::{progress::Progress, store::Database};

/// How many posts, with all that is on them, are written at a time.
const WRITERS: usize = 8;
/// How long a store that has too much to do is waited for, and how long between two tries.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(500);

/// Loads the data set; the progress is that of the posts.
pub(crate) async fn load<M: Model + 'static>(
    model: &M,
    database: &Database,
    data: &Arc<DataSet>,
    mut progress: Progress,
) -> anyhow::Result<()> {
    let users = stream::iter(&data.users).map(|person| model.put_user(person));
    users.buffer_unordered(WRITERS).try_for_each(async |()| Ok(())).await?;

    let writer = Writer::new(&database.cosmos);
    let posts = stream::iter(0..data.posts.len()).map(|index| {
        let (data, writer) = (Arc::clone(data), writer.clone());
        // A task of its own, so that more than one processor is used.
        let task = tokio::spawn(async move {
            let items = M::items_of(&data, &data.posts[index])?;
            writer.write_all(&items).await
        });
        async { task.await? }
    });
    let mut posts = posts.buffer_unordered(WRITERS);
    while posts.try_next().await?.is_some() {
        progress.add(1);
        // Nobody asks what the load took: the list would only grow.
        database.take_requests();
    }
    writer.write_all(&M::items_of_all(data)?).await?;
    Ok(())
}

#[derive(Clone)]
struct Writer {
    containers: Arc<[Container; 3]>,
}

impl Writer {
    fn new(cosmos: &Arc<Cosmos>) -> Self {
        let containers = ["users", "posts", "feed"].map(|id| cosmos.container(id));
        Self { containers: Arc::new(containers) }
    }

    async fn write_all(&self, items: &[Item]) -> anyhow::Result<()> {
        for item in items {
            self.write(item).await.with_context(|| {
                format!("the item {} cannot be written to {}", item.id, item.container)
            })?;
        }
        Ok(())
    }

    async fn write(&self, item: &Item) -> anyhow::Result<()> {
        let mut containers = self.containers.iter();
        let container = containers.find(|one| one.id() == item.container);
        let container = container.context("there is no such container")?;
        let begin = Instant::now();
        loop {
            match container.create(&item.partition, &item.id, &item.json).await {
                Ok(_) => return Ok(()),
                // It was written by a try whose answer was lost.
                Err(error) if error.reason == Reason::Conflict => return Ok(()),
                Err(error) if error.is_transient() && begin.elapsed() < PATIENCE => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
