//! A source with many copies of its name, which is renamed during a run (`--copies`). Its list is read all the time.
//!
//! The items are written past the app, in the form of its commands, before the host starts. So the first
//! batches of the change feed are full. Their partition keys begin as the id of the source.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    time::{Duration, Instant},
};

use anyhow::ensure;
use azure_data_cosmos::DatabaseClient;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use tributary_local::client::Call;

use crate::{
    MAX_LAG,
    api::{Api, text},
    poison::is_poisoned,
    run::items,
};

pub(crate) const SOURCE: &str = "copied";

pub(crate) const FIRST_NAME: &str = "Copied name 0";

/// The pause between two renames. A rename of many items is still at work when the next one begins.
const RENAME_PAUSE: Duration = Duration::from_secs(30);
const LIST_PAUSE: Duration = Duration::from_secs(1);

const MAX_COPY_TIME: Duration = Duration::from_mins(10);

pub(crate) struct ManyCopies {
    pub(crate) container: &'static str,
    pub(crate) partition_key: &'static str,
    pub(crate) items: Vec<Value>,
    /// The path of the list of the source, and the number of items that it always shows.
    pub(crate) list: (String, usize),
    pub(crate) renames: fn(&str) -> Vec<Call>,
    pub(crate) names: fn(&Value) -> Vec<&Value>,
    pub(crate) renamed: usize,
}

impl ManyCopies {
    /// Writes the items one by one: for a transaction the local store copies the physical partition.
    pub(crate) async fn write(&self, database: &DatabaseClient) -> anyhow::Result<()> {
        let container = database.container_client(self.container, None).await?;
        let writes = self.items.iter().map(async |item| {
            let partition = text(item, self.partition_key).to_owned();
            container.create_item(partition, text(item, "id"), item, None).await?;
            Ok(())
        });
        stream::iter(writes).buffer_unordered(8).try_collect().await
    }

    pub(crate) async fn rename(&mut self, api: &Api) -> anyhow::Result<()> {
        for call in (self.renames)(&format!("Copied name {}", self.renamed)) {
            api.accepted(&call).await?;
        }
        self.renamed += 1;
        Ok(())
    }

    pub(crate) async fn listed(&self, api: &Api) -> anyhow::Result<()> {
        let started = Instant::now();
        while let Err(missing) = self.check_list(api).await {
            ensure!(started.elapsed() < MAX_COPY_TIME, missing);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(MAX_LAG).await;
        Ok(())
    }

    pub(crate) async fn check_list(&self, api: &Api) -> anyhow::Result<()> {
        let (path, expected) = &self.list;
        let shown = api.list(path).await?.len();
        ensure!(shown == *expected, "{path} shows {shown} of {expected} items");
        Ok(())
    }

    /// Renames the source and reads its list until it is dropped.
    pub(crate) async fn keep_renaming(&mut self, api: &Api) -> anyhow::Result<Infallible> {
        loop {
            self.rename(api).await?;
            let renamed = Instant::now();
            while renamed.elapsed() < RENAME_PAUSE {
                self.check_list(api).await?;
                tokio::time::sleep(LIST_PAUSE).await;
            }
        }
    }

    pub(crate) async fn complete(&mut self, api: &Api) -> anyhow::Result<()> {
        // The name of a rename that was dropped may be in use.
        self.renamed += 1;
        self.rename(api).await
    }

    pub(crate) async fn check(&self, database: &DatabaseClient) -> anyhow::Result<Vec<String>> {
        let key = self.partition_key;
        let query = format!("SELECT * FROM c WHERE STARTSWITH(c.{key}, '{SOURCE}')");
        let stored = items(database, self.container, query).await?;
        let place = |item: &Value| (text(item, key).to_owned(), text(item, "id").to_owned());
        let mut stored: BTreeMap<_, _> = stored
            .into_iter()
            .filter(|item| !is_poisoned(item))
            .map(|item| (place(&item), item))
            .collect();
        let name = Value::from(format!("Copied name {}", self.renamed - 1));
        let mut wrong = Vec::new();
        for item in &self.items {
            let found = stored.remove(&place(item)).unwrap_or_default();
            let names = (self.names)(&found);
            if names.len() != (self.names)(item).len() || names.iter().any(|it| **it != name) {
                wrong.push(format!("instead of {name}: {found}"));
            }
        }
        wrong.extend(stored.values().map(|item| format!("left behind: {item}")));
        Ok(wrong)
    }
}
