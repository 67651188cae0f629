//! The load of the data set into a model's containers.
//!
//! Users sign up by C1. All other items are written in their final form, item by item: the commands
//! would take a request for each comment and each like, and another for each count.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use tributary_functions::cosmos::{Container, Cosmos, Reason};

use super::{
    data::DataSet,
    models::{Model, NewItem},
};
use crate::{progress::ProgressLine, store::Database};

/// The number of posts that are written at a time, with all their items.
const N_WRITERS: usize = 8;
/// The longest wait for a store that throttles, and the pause between two attempts.
const MAX_STORE_WAIT: Duration = Duration::from_mins(2);
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Loads the data set; the progress counts posts.
pub(crate) async fn load<M: Model + 'static>(
    model: &M,
    database: &Database,
    data: &Arc<DataSet>,
    mut progress: ProgressLine,
) -> anyhow::Result<()> {
    let users = stream::iter(&data.users).map(|person| model.put_user(person));
    users.buffer_unordered(N_WRITERS).try_for_each(async |()| Ok(())).await?;

    let writer = Writer::new(&database.cosmos);
    let posts = stream::iter(0..data.posts.len()).map(|index| {
        let data = Arc::clone(data);
        let writer = writer.clone();
        // A task of its own, so that the load uses more than one processor.
        let task = tokio::spawn(async move {
            let items = M::items_of(&data, &data.posts[index])?;
            writer.write_all(&items).await
        });
        async { task.await? }
    });
    let mut posts = posts.buffer_unordered(N_WRITERS);
    while posts.try_next().await?.is_some() {
        progress.add(1);
        // The requests of the load are not measured: the list would only grow.
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

    async fn write_all(&self, items: &[NewItem]) -> anyhow::Result<()> {
        for item in items {
            self.write(item).await.with_context(|| {
                format!("the item {} cannot be written to {}", item.id, item.container)
            })?;
        }
        Ok(())
    }

    async fn write(&self, item: &NewItem) -> anyhow::Result<()> {
        let mut containers = self.containers.iter();
        let container = containers.find(|one| one.id() == item.container);
        let container = container.context("there is no such container")?;
        let begin = Instant::now();
        loop {
            match container.create(&item.partition, &item.id, &item.json).await {
                Ok(_) => return Ok(()),
                // An attempt whose answer was lost has written it.
                Err(error) if error.reason == Reason::Conflict => return Ok(()),
                Err(error) if error.is_transient() && begin.elapsed() < MAX_STORE_WAIT => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
