//! `POST /news/items/batch`.
//!
//! New items are created together: first the location of each, in a partition of its own, then the
//! items of a partition in transactions. Refused items, and items that were stored before, are
//! stored one by one, as a single post does. So each item has the outcome that it would have alone,
//! and a failed item hides no other.
//!
//! Each item has a status within the time that the request may take. The deadline cuts off the work
//! under way, as a crash does: a second post of the item ends that work.

use std::collections::{BTreeMap, HashSet};

use axum::{Json, extract::State, http::StatusCode};
use futures::{FutureExt, StreamExt, stream};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use tributary_functions::{
    cosmos::{self, StoreError, Transaction},
    engines::item_move::Places,
    http::{ApiError, FieldError, Form, FromForm, JsonBody},
    values::CommandId,
};

use super::save::{Saved, save};
use crate::{
    model::{ItemId, NewItem, NewsItem, PartitionKey, Place, StoredItem},
    state::News,
};

/// The most items of a request.
const MAX_ITEMS: usize = 500;

/// The most bytes of a body.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// The most bytes of an answer: ten bad values of each item.
pub const MAX_ANSWER: usize = MAX_ITEMS * 10 * 80;

/// The bytes that are reckoned for an item beside its content: commonly it has far less than the 60 KB that
/// are possible.
const REST_BYTES: usize = 4_096;

/// The most items or transactions under way at a time.
const AT_A_TIME: usize = 16;

/// The body: items, each valid or not.
pub struct NewItems(Vec<Result<NewItem, Vec<FieldError>>>);

impl FromForm for NewItems {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.each_object("items", 1..=MAX_ITEMS).map(Self)
    }
}

/// The outcomes of all items, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcomes {
    items: Vec<Outcome>,
    succeeded: usize,
    failed: usize,
}

/// The outcome of an item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum Outcome {
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

/// An item of the request.
struct Item {
    /// The index of the item in the request.
    index: usize,
    new: NewItem,
    id: ItemId,
    command: CommandId,
}

/// Stores up to 500 items.
pub async fn post_items(
    State(news): State<News>,
    command: CommandId,
    JsonBody(NewItems(items)): JsonBody<NewItems, MAX_BODY>,
) -> Result<Json<Outcomes>, ApiError> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; items.len()];
    let (mut first, mut again, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (index, item) in items.into_iter().enumerate() {
        match item {
            Ok(new) => {
                let (id, command) = (new.id(), command.part(index));
                // Of an item that comes twice, the last one counts.
                let to = if seen.insert(id.clone()) { &mut first } else { &mut again };
                to.push(Item { index, new, id, command });
            }
            Err(errors) => {
                let status = StatusCode::BAD_REQUEST.as_u16();
                outcomes[index] = Some(Outcome::Failed { status, errors });
            }
        }
    }
    let batch = Batch { news: &news, deadline: cosmos::deadline() };
    let (created, refused) = batch.create(first).await;
    for (index, outcome) in created {
        outcomes[index] = Some(outcome);
    }
    let singly = stream::iter(refused).map(|item| batch.store(item)).buffer_unordered(AT_A_TIME);
    for (index, outcome) in singly.collect::<Vec<_>>().await {
        outcomes[index] = Some(outcome);
    }
    for item in again {
        let (index, outcome) = batch.store(item).await;
        outcomes[index] = Some(outcome);
    }
    let items: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let succeeded = items.iter().filter(|item| matches!(item, Outcome::Stored { .. })).count();
    Ok(Json(Outcomes { succeeded, failed: items.len() - succeeded, items }))
}

/// A batch that is being stored.
struct Batch<'a> {
    news: &'a News,
    deadline: Option<Instant>,
}

impl Batch<'_> {
    /// Runs an operation until the deadline. Returns `None` if the operation was not begun, or has
    /// not ended by then.
    async fn in_time<F: Future>(&self, operation: F) -> Option<F::Output> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => None,
            Some(deadline) => timeout_at(deadline, operation).await.ok(),
            None => Some(operation.await),
        }
    }

    /// Creates new items in transactions. Returns their outcomes, and the refused items.
    async fn create(&self, items: Vec<Item>) -> (Vec<(usize, Outcome)>, Vec<Item>) {
        // Once for each provider. A failed write is retried with the items of the provider.
        let providers = items.iter().map(|item| item.new.feed_provider_id.clone());
        let noting = stream::iter(providers.collect::<HashSet<_>>())
            .map(|provider| async move { self.in_time(self.news.note_class(&provider)).await })
            .buffer_unordered(AT_A_TIME);
        noting.for_each(|_| async {}).await;
        let (mut refused, mut places) = (Vec::new(), BTreeMap::<_, Vec<(Item, Place)>>::new());
        let mut locating =
            stream::iter(items).map(|item| self.locate(item)).buffer_unordered(AT_A_TIME);
        while let Some((item, place)) = locating.next().await {
            match place {
                Some(place) => {
                    let partition = (place.tier, place.partition_key.clone());
                    places.entry(partition).or_default().push((item, place));
                }
                None => refused.push(item),
            }
        }
        let size = |(item, _): &(Item, Place)| item.new.content.as_str().len() + REST_BYTES;
        let chunks = places.into_values().flat_map(|items| Transaction::chunks(items, size));
        let mut writing =
            stream::iter(chunks).map(|chunk| self.write(chunk)).buffer_unordered(AT_A_TIME);
        let mut created = Vec::new();
        while let Some((chunk, is_written)) = writing.next().await {
            for (item, Place { partition_key, .. }) in chunk {
                if is_written {
                    let (status, id) = (StatusCode::CREATED.as_u16(), item.id);
                    created.push((item.index, Outcome::Stored { status, id, partition_key }));
                } else {
                    refused.push(item);
                }
            }
        }
        (created, refused)
    }

    /// Writes the location of a new item, and returns its place. Returns `None` if the item has a
    /// location already, or the store refuses the write.
    async fn locate(&self, item: Item) -> (Item, Option<Place>) {
        let located = async {
            self.news.note_class(&item.new.feed_provider_id).await?;
            let place = self.news.place_of(&item.new).await?;
            self.news.locate(item.id.as_str(), (&place, 1), None).await?;
            Ok::<_, StoreError>(place)
        };
        let place = self.in_time(located).await.and_then(Result::ok);
        (item, place)
    }

    /// Writes new items of a partition in one transaction.
    async fn write(&self, chunk: Vec<(Item, Place)>) -> (Vec<(Item, Place)>, bool) {
        let Some((_, Place { tier, partition_key })) = chunk.first() else { return (chunk, true) };
        let now = self.news.now();
        let written = async {
            let transaction = Transaction::new(partition_key.as_str());
            let transaction =
                chunk.iter().try_fold(transaction, |transaction, (item, place)| {
                    let public = item.new.stored_in(place.partition_key.clone(), now);
                    transaction
                        .create(&NewsItem::from(StoredItem::new(public, item.command.clone())))
                })?;
            let written = self.news.container(*tier).transact(transaction).await;
            written.map_err(|refusal| refusal.error)
        };
        let is_written = self.in_time(written).await.is_some_and(|written| written.is_ok());
        (chunk, is_written)
    }

    /// Stores an item as a single post does.
    async fn store(&self, Item { index, new, command, .. }: Item) -> (usize, Outcome) {
        let failed = |status: StatusCode, message| {
            let errors = vec![FieldError { field: String::new(), message }];
            Outcome::Failed { status: status.as_u16(), errors }
        };
        let outcome = match self.in_time(save(self.news, &new, &command).boxed()).await {
            Some(Ok(Saved { status, item })) => {
                let item = item.item;
                let (status, id, partition_key) = (status.as_u16(), item.id, item.partition_key);
                Outcome::Stored { status, id, partition_key }
            }
            Some(Err(error)) => {
                let (status, message) = error.status_and_detail();
                failed(status, message)
            }
            None => failed(
                StatusCode::SERVICE_UNAVAILABLE,
                "The time of the batch was over. Post this item again.".to_owned(),
            ),
        };
        (index, outcome)
    }
}
