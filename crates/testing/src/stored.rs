//! Items as they are stored, past the app: read in their latest committed state, written as another
//! program would write them, or made unreadable; and containers whose reads are stale.

use azure_data_cosmos::{
    FeedScope, Query,
    options::{OperationOptions, QueryOptions, ReadConsistencyStrategy},
};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::FrozenReplica;

use crate::{AppUnderTest, World};

pub(crate) fn reading_latest() -> QueryOptions {
    let mut latest = OperationOptions::default();
    latest.read_consistency_strategy = Some(ReadConsistencyStrategy::LatestCommitted);
    QueryOptions::default().with_operation_options(latest)
}

/// Poisoned and stale stores.
impl<A: AppUnderTest> World<A> {
    /// Returns an item in its latest committed state; [`Value::Null`] where there is none.
    pub async fn item(&self, container: &str, id: &str) -> Value {
        let query = Query::from("SELECT * FROM c WHERE c.id = @id").with_parameter("@id", id);
        let client = self.container(container).await;
        let items = client.query_items::<Value>(
            query.unwrap(),
            FeedScope::full_container(),
            Some(reading_latest()),
        );
        let mut items: Vec<Value> = items.await.unwrap().try_collect().await.unwrap();
        assert!(
            items.len() < 2,
            "{} items of {container} have the id {id}: look for one in World::items",
            items.len()
        );
        items.pop().unwrap_or_default()
    }

    /// Writes an item past the app, over the one that has its partition key and id.
    pub async fn write_item(&self, container: &str, item: &Value) {
        let partition = self.partition_of(container, item).await;
        let id = item["id"].as_str().unwrap_or_else(|| panic!("an item needs an id: {item}"));
        let client = self.container(container).await;
        client.upsert_item(partition, id, item, None).await.unwrap();
    }

    /// Changes properties of an item past the app. Returns the item as it was.
    pub async fn change_item(&self, container: &str, id: &str, properties: &Value) -> Value {
        let item = self.existing(container, id, "id").await;
        let mut changed = item.clone();
        changed.as_object_mut().unwrap().extend(properties.as_object().unwrap().clone());
        self.write_item(container, &changed).await;
        item
    }

    /// Deletes an item past the app.
    pub async fn delete_item(&self, container: &str, partition: &str, id: &str) {
        let container = self.container(container).await;
        container.delete_item(partition.to_owned(), id, None).await.unwrap();
    }

    pub(crate) async fn partition_of(&self, container: &str, item: &Value) -> String {
        let client = self.container(container).await;
        let properties = client.read(None).await.unwrap().into_model().unwrap();
        let property = properties.partition_key.paths()[0].trim_start_matches('/');
        let key = item[property].as_str().unwrap_or_else(|| {
            panic!(
                "an item of {container} needs a text in {property:?}, and this one has none: {item}"
            )
        });
        key.to_owned()
    }

    /// Makes an item unreadable, as another program or a bad migration may: a property gets a value of a
    /// type that the app does not expect. Returns the item as it was, for
    /// [`write_item`](Self::write_item) to repair it.
    ///
    /// The story then holds the app to its promise: lists leave such an item out, and a projection stores a
    /// dead letter and applies the changes behind it.
    pub async fn make_unreadable(&self, container: &str, id: &str, property: &str) -> Value {
        self.existing(container, id, property).await;
        self.change_item(container, id, &json!({property: {"of": "another program"}})).await
    }

    /// Makes the reads of a container stale until the result is dropped. An instance that has made no later
    /// write itself reads the items as they are now, as from a replica that is behind. Writes, the change
    /// feed and reads of the latest committed state see the newest items.
    ///
    /// So a story writes through one instance and asks another, which has no session of the first.
    pub fn stale_reads(&self, container: &str) -> FrozenReplica {
        self.endpoint.freeze_replica(container)
    }

    async fn existing(&self, container: &str, id: &str, property: &str) -> Value {
        let item = self.item(container, id).await;
        assert!(
            item.get(property).is_some(),
            "no item {id} of {container} has {property:?}; the container has {:?}",
            self.items(container).await
        );
        item
    }
}
