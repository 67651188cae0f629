//! `POST /news/items/batch`.
//!
//! New items of one partition are created in transactions: first their locations, in those of their
//! providers, then the items. Whatever a transaction refuses, and what was stored before, is stored
//! item by item, as a single post does. So each item ends as it would alone, and one that fails hides
//! no other.

use std::collections::{BTreeMap, HashSet};

use axum::{Json, extract::State, http::StatusCode};
use futures::{StreamExt, stream};
use serde::Serialize;

use super::save::{Saved, save};
use crate::{
    cosmos::{StoreError, Transaction},
    http::{ApiError, FieldError, Form, FromForm, JsonBody},
    news::{
        feeds::{Location, News},
        model::{ItemId, NewItem, NewsItem, PartitionKey, Place, ProviderId, StoredItem},
    },
    values::CommandId,
};

/// The most items of a request.
const MAX_ITEMS: usize = 500;

/// The most bytes of a body.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// The most bytes of an answer: ten bad values of each item.
pub const MAX_ANSWER: usize = MAX_ITEMS * 10 * 80;

/// The most operations of a transaction (service limit).
const OPERATIONS: usize = 100;

/// The most bytes of a transaction, as text: the service limit is 2 MB, and an envelope comes about
/// each item.
const BYTES: usize = 1_500_000;

/// How many requests to the store are under way at a time.
const AT_A_TIME: usize = 8;

/// The body: items, each good or not.
pub struct NewItems(Vec<Result<NewItem, Vec<FieldError>>>);

impl FromForm for NewItems {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.each_object("items", 1..=MAX_ITEMS).map(Self)
    }
}

/// What became of all items, in the order of the request.
#[derive(Debug, Serialize)]
pub struct Outcomes {
    items: Vec<Outcome>,
    succeeded: usize,
    failed: usize,
}

/// What became of an item.
#[derive(Debug, Clone, Serialize)]
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
    /// Its place in the request.
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
                // An item that comes twice ends as the last of them says.
                let to = if seen.insert(id.clone()) { &mut first } else { &mut again };
                to.push(Item { index, new, id, command });
            }
            Err(errors) => {
                let status = StatusCode::BAD_REQUEST.as_u16();
                outcomes[index] = Some(Outcome::Failed { status, errors });
            }
        }
    }
    let (new, known) = unknown(&news, first).await?;
    let (created, refused) = create(&news, new).await;
    for (index, outcome) in created {
        outcomes[index] = Some(outcome);
    }
    let singly = stream::iter(known.into_iter().chain(refused))
        .map(|item| one(&news, item))
        .buffer_unordered(AT_A_TIME);
    for (index, outcome) in singly.collect::<Vec<_>>().await {
        outcomes[index] = Some(outcome);
    }
    for item in again {
        let (index, outcome) = one(&news, item).await;
        outcomes[index] = Some(outcome);
    }
    let items: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let succeeded = items.iter().filter(|item| matches!(item, Outcome::Stored { .. })).count();
    Ok(Json(Outcomes { succeeded, failed: items.len() - succeeded, items }))
}

/// Tells new items from those that have a location: a query for each hundred of a provider.
async fn unknown(news: &News, items: Vec<Item>) -> Result<(Vec<Item>, Vec<Item>), StoreError> {
    let mut of_providers: BTreeMap<ProviderId, Vec<ItemId>> = BTreeMap::new();
    for item in &items {
        of_providers.entry(item.new.feed_provider_id.clone()).or_default().push(item.id.clone());
    }
    let queries = of_providers.iter().flat_map(|(provider, ids)| {
        ids.chunks(OPERATIONS).map(move |ids| async move {
            let ids = ids.iter().map(ItemId::as_str);
            news.locations.query_ids::<Location>("*", provider.as_str(), ids).await
        })
    });
    let queries: Vec<_> = queries.collect();
    let found: Vec<_> = stream::iter(queries).buffer_unordered(AT_A_TIME).collect().await;
    let mut known = HashSet::new();
    for locations in found {
        known.extend(locations?.into_iter().map(|location| location.id));
    }
    Ok(items.into_iter().partition(|item| !known.contains(&item.id)))
}

/// Creates new items in transactions; returns what became of them, and those that a transaction has
/// refused.
async fn create(news: &News, items: Vec<Item>) -> (Vec<(usize, Outcome)>, Vec<Item>) {
    let mut located: BTreeMap<ProviderId, Vec<(Item, Place)>> = BTreeMap::new();
    for item in items {
        let place = news.place_of(&item.new);
        located.entry(item.new.feed_provider_id.clone()).or_default().push((item, place));
    }
    let (mut refused, mut places) = (Vec::new(), BTreeMap::<_, Vec<(Item, Place)>>::new());
    let locating = located.into_iter().flat_map(|(provider, items)| {
        chunks(items, |_| 0).into_iter().map(move |chunk| locate(news, provider.clone(), chunk))
    });
    let locating: Vec<_> = locating.collect();
    let locating: Vec<_> = stream::iter(locating).buffer_unordered(AT_A_TIME).collect().await;
    for (chunk, is_located) in locating {
        for (item, place) in chunk {
            if is_located {
                let partition = (place.store, place.partition_key.clone());
                places.entry(partition).or_default().push((item, place));
            } else {
                refused.push(item);
            }
        }
    }
    let writing = places
        .into_values()
        .flat_map(|items| chunks(items, |(item, _)| item.new.content.as_str().len()).into_iter());
    let writing: Vec<_> = writing.map(|chunk| write(news, chunk)).collect();
    let writing: Vec<_> = stream::iter(writing).buffer_unordered(AT_A_TIME).collect().await;
    let mut created = Vec::new();
    for (chunk, is_written) in writing {
        for (Item { index, new, id, command }, place) in chunk {
            if is_written {
                let (status, partition_key) = (201, place.partition_key);
                created.push((index, Outcome::Stored { status, id, partition_key }));
            } else {
                refused.push(Item { index, new, id, command });
            }
        }
    }
    (created, refused)
}

/// Writes the locations of new items of a provider in one transaction.
async fn locate(
    news: &News,
    provider: ProviderId,
    chunk: Vec<(Item, Place)>,
) -> (Vec<(Item, Place)>, bool) {
    let written = async {
        news.note_class(&provider).await?;
        let transaction = Transaction::new(provider.as_str());
        let transaction = chunk.iter().try_fold(transaction, |transaction, (item, place)| {
            transaction.create(&Location {
                id: item.id.clone(),
                partition_key: provider.clone(),
                place: place.clone(),
                version: 1,
            })
        })?;
        let written = news.locations.transact(transaction).await;
        written.map_err(|refusal| refusal.error)
    };
    let is_located = written.await.is_ok();
    (chunk, is_located)
}

/// Writes new items of a partition in one transaction.
async fn write(news: &News, chunk: Vec<(Item, Place)>) -> (Vec<(Item, Place)>, bool) {
    let Some((_, Place { store, partition_key })) = chunk.first() else { return (chunk, true) };
    let now = news.now();
    let written = async {
        let transaction = Transaction::new(partition_key.as_str());
        let transaction = chunk.iter().try_fold(transaction, |transaction, (item, place)| {
            let public = item.new.stored_in(place.partition_key.clone(), now);
            transaction.create(&NewsItem::from(StoredItem::new(public, item.command.clone())))
        })?;
        let written = news.container(*store).transact(transaction).await;
        written.map_err(|refusal| refusal.error)
    };
    let is_written = written.await.is_ok();
    (chunk, is_written)
}

/// Stores an item as a single post does.
async fn one(news: &News, Item { index, new, command, .. }: Item) -> (usize, Outcome) {
    let outcome = match save(news, &new, &command).await {
        Ok(Saved { status, item }) => {
            let item = item.item;
            let (status, id, partition_key) = (status.as_u16(), item.id, item.partition_key);
            Outcome::Stored { status, id, partition_key }
        }
        Err(error) => {
            let (status, message) = error.in_short();
            let errors = vec![FieldError { field: String::new(), message }];
            Outcome::Failed { status: status.as_u16(), errors }
        }
    };
    (index, outcome)
}

/// Cuts items into pieces for one transaction each.
fn chunks<T>(items: Vec<T>, bytes: fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut chunks, mut size): (Vec<Vec<T>>, usize) = (Vec::new(), 0);
    for item in items {
        // Beside its content an item has at most some 60 KB, and commonly far less.
        let item_size = bytes(&item) + REST;
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < OPERATIONS && size + item_size <= BYTES => {
                size += item_size;
                chunk.push(item);
            }
            _ => {
                size = item_size;
                chunks.push(vec![item]);
            }
        }
    }
    chunks
}

/// What is reckoned for an item beside its content.
const REST: usize = 4_096;
