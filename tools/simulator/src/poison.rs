//! Items that the app cannot read, written into its containers past the app.
//!
//! Each is made of an existing item, so it is among good ones: in the same logical partition, or, when the item is the
//! root of its partition, in one of its own. Its id begins with [`POISONED_PREFIX`]; a field has a value of another type
//! or is missing, or its type is one that the app does not know. Comments, likes and orders get another type only: their
//! number is a part of what is compared. [`remove_from`] takes poisoned items out of lists.

use std::time::Duration;

use anyhow::bail;
use azure_data_cosmos::{DatabaseClient, FeedScope};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tributary_local::{chaos::Random, cosmos::ContainersFile};

use crate::api::text;

pub(crate) const POISONED_PREFIX: &str = "poisoned-";

pub(crate) const WRITE_PAUSE: Duration = Duration::from_millis(250);
const SPARED_CONTAINERS: [&str; 3] = ["leases", "dead-letters", "projections"];
const COUNTED_TYPES: [&str; 3] = ["comment", "like", "order"];
/// Fields with another type than an object, in the order of preference: first those that the API shows,
/// which each reader needs.
const SPOILED_FIELDS: [&str; 7] =
    ["title", "price", "firstName", "username", "content", "tags", "version"];
const MAX_MODELS: usize = 100;
/// The prefix of the reasons of dead letters whose change met a poisoned target.
const TARGET_REASON: &str = "a copy that is there cannot be read";
const MAX_WRITE_ATTEMPTS: usize = 50;

pub(crate) struct Poisoner {
    database: DatabaseClient,
    containers: Vec<(String, String)>,
    random: Random,
    n_wanted: usize,
    pub(crate) written: Vec<Poisoned>,
}

#[derive(Debug)]
pub(crate) struct Poisoned {
    container: String,
    partition: String,
    id: String,
}

impl Poisoner {
    pub(crate) fn new(
        database: DatabaseClient,
        containers: &ContainersFile,
        seed: u64,
        n_wanted: usize,
    ) -> Self {
        let containers = containers.containers().iter().filter_map(|container| {
            let key = container.partition_key.paths().first()?.trim_start_matches('/').to_owned();
            Some((container.id.to_string(), key))
        });
        let containers =
            containers.filter(|(id, _)| !SPARED_CONTAINERS.contains(&id.as_str())).collect();
        let random = Random::stream(seed, 2_000);
        Self { database, containers, random, n_wanted, written: Vec::new() }
    }

    /// Writes the remaining items, with a pause before each. An empty container gets none.
    pub(crate) async fn complete(&mut self, pause: Duration) -> anyhow::Result<()> {
        for _ in 0..4 * self.n_wanted {
            if self.written.len() < self.n_wanted {
                tokio::time::sleep(pause).await;
                self.write().await?;
            }
        }
        Ok(())
    }

    /// Returns the poisoned items without a dead letter that should have one: those of a container
    /// whose every item is a change of a projection, as long as they exist.
    pub(crate) async fn without_dead_letter(
        &self,
        dead_letters: &[Value],
    ) -> anyhow::Result<Vec<String>> {
        let mut missing = Vec::new();
        for poisoned in &self.written {
            let Poisoned { container, partition, id } = poisoned;
            let is_change = matches!(container.as_str(), "posts" | "product" | "productMeta");
            let has_letter = dead_letters.iter().any(|letter| letter["documentId"] == *id);
            let container = self.database.container_client(container, None).await?;
            if is_change
                && !has_letter
                && container.read_item(partition.clone(), id, None).await.is_ok()
            {
                missing.push(format!("no dead letter of {poisoned:?}"));
            }
        }
        Ok(missing)
    }

    async fn write(&mut self) -> anyhow::Result<()> {
        let place = self.random.index(self.containers.len());
        let (container, key) = self.containers[place].clone();
        let client = self.database.container_client(&container, None).await?;
        let query = "SELECT * FROM c WHERE NOT STARTSWITH(c.id, 'poisoned-')";
        let Ok(found) = client.query_items::<Value>(query, FeedScope::full_container(), None).await
        else {
            return Ok(());
        };
        // A throttled query finds no items, and the next turn repeats it.
        let items: Vec<Value> = found.take(MAX_MODELS).try_collect().await.unwrap_or_default();
        if items.is_empty() {
            return Ok(());
        }
        let item = items[self.random.index(items.len())].clone();
        let item = self.spoiled(&container, &key, item);
        let [partition, id] = [&*key, "id"].map(|field| text(&item, field).to_owned());
        for _ in 0..MAX_WRITE_ATTEMPTS {
            if client.upsert_item(partition.clone(), &id, &item, None).await.is_ok() {
                self.written.push(Poisoned { container, partition, id });
                return Ok(());
            }
            tokio::time::sleep(WRITE_PAUSE / 10).await;
        }
        bail!("a poisoned item cannot be written into {container}")
    }

    fn spoiled(&mut self, container: &str, key: &str, mut item: Value) -> Value {
        let id = format!("{POISONED_PREFIX}{container}-{}", self.written.len());
        if let Some(fields) = item.as_object_mut() {
            fields.retain(|name, _| !name.starts_with('_'));
        }
        if item[key] == item["id"] {
            item[key] = id.clone().into();
        }
        item["id"] = id.into();
        let is_counted = COUNTED_TYPES.contains(&text(&item, "type"));
        let field =
            SPOILED_FIELDS.into_iter().find(|name| *name != key && item.get(*name).is_some());
        match (self.random.below(10), field) {
            (..6, Some(field)) if !is_counted => item[field] = json!({"poisoned": true}),
            (6..8, Some(field)) if !is_counted => {
                if let Some(fields) = item.as_object_mut() {
                    fields.remove(field);
                }
            }
            _ if key == "type" => item["state"] = "poisoned".into(),
            _ => item["type"] = "poisoned".into(),
        }
        if container == "feeds_locations" {
            item["departure"] = json!({"poisoned": true});
        }
        item
    }
}

pub(crate) fn remove_from(body: &mut Value) {
    for list in ["items", "orders"] {
        if let Some(items) = body.get_mut(list).and_then(Value::as_array_mut) {
            items.retain(|item| !is_poisoned(item));
        }
    }
}

pub(crate) fn is_poisoned(report: &Value) -> bool {
    report.to_string().contains(POISONED_PREFIX)
}

/// Returns true if a dead letter is one of a poisoned item, or of a change that met one among its
/// targets: every other target has the change, which the comparison shows.
pub(crate) fn explains(letter: &Value) -> bool {
    is_poisoned(letter) || text(letter, "reason").starts_with(TARGET_REASON)
}
