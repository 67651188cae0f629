//! `POST /news/items/batch`.
//!
//! New items are created together: first the location of each, in a partition of its own, then the
//! items of a partition in transactions. Refused items, and items that were stored before, are
//! stored one by one, like a single post. So each item has the outcome of a single post, and a failed
//! item hides no other.
//!
//! Each item has a status before the deadline of the request. The deadline cuts off the work under
//! way, as a crash does: a second post of the item ends that work.

use std::collections::{BTreeMap, HashSet};

use futures::{FutureExt, StreamExt, stream};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use tributary_functions::{
    cosmos,
    http::{FieldError, Refusal},
    prelude::*,
};

use super::post_item::save;
use crate::{
    model::{FeedItem, ItemId, NewItem, PartitionKey},
    moves::{NewsItem, Place, Places, StoredItem},
    state::News,
};

const MAX_ITEMS: usize = 500;

pub const MAX_BATCH_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes of an answer: ten errors for each item.
pub const MAX_BATCH_ANSWER_BYTES: usize = MAX_ITEMS * 10 * 80;

/// The assumed bytes of an item beside its content. They can be 60 KB, but commonly are far fewer.
const ASSUMED_REST_BYTES: usize = 4_096;

/// The most items or transactions that are written at a time.
const MAX_CONCURRENT_WRITES: usize = 16;

/// The body: items, each valid or not.
pub struct NewItems(Vec<Result<NewItem, Vec<FieldError>>>);

from_form!(NewItems(each_object("items", 1..=MAX_ITEMS)));

/// The outcomes of all items, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchOutcome {
    items: Vec<ItemOutcome>,
    succeeded: usize,
    failed: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum ItemOutcome {
    #[serde(rename_all = "camelCase")]
    Stored {
        status: u16,
        id: ItemId,
        partition_key: PartitionKey,
    },
    Failed {
        status: u16,
        errors: Vec<FieldError>,
    },
}

struct BatchItem {
    index: usize,
    new: NewItem,
    id: ItemId,
    command: CommandId,
}

/// Stores up to 500 items.
pub async fn post_items(
    State(news): State<News>,
    command: CommandId,
    JsonBody(NewItems(items)): JsonBody<NewItems, MAX_BATCH_BODY_BYTES>,
) -> Result<Json<BatchOutcome>, ApiError> {
    let mut outcomes = BTreeMap::new();
    let mut first = Vec::new();
    let mut repeated = Vec::new();
    let mut seen = HashSet::new();
    for (index, item) in items.into_iter().enumerate() {
        match item {
            Ok(new) => {
                let id = new.id();
                let command = command.part(index);
                // Repeated items are stored last, so the last one counts.
                let to = if seen.insert(id.clone()) { &mut first } else { &mut repeated };
                to.push(BatchItem { index, new, id, command });
            }
            Err(errors) => {
                let status = StatusCode::BAD_REQUEST.as_u16();
                outcomes.insert(index, ItemOutcome::Failed { status, errors });
            }
        }
    }
    let batch = ItemBatch { news: &news, deadline: cosmos::deadline() };
    let (created, refused) = batch.create(first).await;
    outcomes.extend(created);
    let single_posts =
        stream::iter(refused).map(|item| batch.store(item)).buffer_unordered(MAX_CONCURRENT_WRITES);
    outcomes.extend(single_posts.collect::<Vec<_>>().await);
    for item in repeated {
        outcomes.extend([batch.store(item).await]);
    }
    let items: Vec<ItemOutcome> = outcomes.into_values().collect();
    let succeeded = items.iter().filter(|item| matches!(item, ItemOutcome::Stored { .. })).count();
    Ok(Json(BatchOutcome { succeeded, failed: items.len() - succeeded, items }))
}

struct ItemBatch<'a> {
    news: &'a News,
    deadline: Option<Instant>,
}

impl ItemBatch<'_> {
    /// Runs an operation until the deadline. Returns `None` if the operation was not begun, or has
    /// not ended by then.
    async fn in_time<F: Future>(&self, operation: F) -> Option<F::Output> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => None,
            Some(deadline) => timeout_at(deadline, operation).await.ok(),
            None => Some(operation.await),
        }
    }

    async fn create(&self, items: Vec<BatchItem>) -> (Vec<(usize, ItemOutcome)>, Vec<BatchItem>) {
        // One record for each provider. A failed write is retried with each item of the provider.
        let providers = items.iter().map(|item| item.new.feed_provider_id.clone());
        let recording = stream::iter(providers.collect::<HashSet<_>>())
            .map(
                |provider| async move { self.in_time(self.news.record_key_class(&provider)).await },
            )
            .buffer_unordered(MAX_CONCURRENT_WRITES);
        recording.for_each(|_| async {}).await;
        let mut refused = Vec::new();
        let mut places = BTreeMap::<Place, Vec<BatchItem>>::new();
        let mut locating = stream::iter(items)
            .map(|item| self.locate(item))
            .buffer_unordered(MAX_CONCURRENT_WRITES);
        while let Some((item, place)) = locating.next().await {
            match place {
                Some(place) => places.entry(place).or_default().push(item),
                None => refused.push(item),
            }
        }
        let size = |item: &BatchItem| item.new.content.as_str().len() + ASSUMED_REST_BYTES;
        let mut chunks = Vec::new();
        for (place, items) in places {
            let of_place = Transaction::chunks(items, size).into_iter();
            chunks.extend(of_place.map(|chunk| (place.clone(), chunk)));
        }
        let mut writing = stream::iter(chunks)
            .map(|(place, chunk)| self.write(place, chunk))
            .buffer_unordered(MAX_CONCURRENT_WRITES);
        let mut created = Vec::new();
        while let Some((chunk, written_to)) = writing.next().await {
            let Some(key) = written_to else {
                refused.extend(chunk);
                continue;
            };
            created.extend(chunk.into_iter().map(|BatchItem { index, id, .. }| {
                let status = StatusCode::CREATED.as_u16();
                (index, ItemOutcome::Stored { status, id, partition_key: key.clone() })
            }));
        }
        (created, refused)
    }

    /// Writes the location of a new item, and returns its place. Returns `None` if the item has a
    /// location already, or the store refuses the write.
    async fn locate(&self, item: BatchItem) -> (BatchItem, Option<Place>) {
        let located = async {
            self.news.record_key_class(&item.new.feed_provider_id).await?;
            let place = self.news.place_of(&item.new).await?;
            self.news.locate(item.id.as_str(), (&place, 1), None).await?;
            Ok::<_, StoreError>(place)
        };
        let place = self.in_time(located).await.and_then(Result::ok);
        (item, place)
    }

    /// Writes new items of a place in one transaction. Returns the items, and their partition key if they
    /// were written.
    async fn write(
        &self,
        Place { tier, partition_key }: Place,
        chunk: Vec<BatchItem>,
    ) -> (Vec<BatchItem>, Option<PartitionKey>) {
        let now = self.news.now();
        let written = async {
            let empty = Transaction::new(partition_key.as_str());
            let transaction = chunk.iter().try_fold(empty, |transaction, item| {
                let public = item.new.stored_in(partition_key.clone(), now);
                transaction.create(&NewsItem::from(StoredItem::new(public, &item.command)))
            })?;
            let written = self.news.container(tier).transact(transaction).await;
            written.map_err(|refusal| refusal.error)
        };
        let is_written = self.in_time(written).await.is_some_and(|written| written.is_ok());
        (chunk, is_written.then_some(partition_key))
    }

    async fn store(
        &self,
        BatchItem { index, new, command, .. }: BatchItem,
    ) -> (usize, ItemOutcome) {
        let failed = |status: StatusCode, message| {
            let errors = vec![FieldError { field: String::new(), message }];
            ItemOutcome::Failed { status: status.as_u16(), errors }
        };
        let outcome = match self.in_time(save(self.news, &new, &command).boxed()).await {
            Some(Ok(WrittenItem { stored, is_new })) => {
                let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
                let FeedItem { id, partition_key, .. } = stored.item.public;
                ItemOutcome::Stored { status: status.as_u16(), id, partition_key }
            }
            Some(Err(error)) => {
                let Refusal { status, detail, .. } = error.into();
                failed(status, detail)
            }
            None => failed(
                StatusCode::SERVICE_UNAVAILABLE,
                "The deadline of the batch has passed. Post this item again.".to_owned(),
            ),
        };
        (index, outcome)
    }
}
