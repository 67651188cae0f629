//! A run that brings what is due to a colder container, in a slice of time.
//!
//! A run ends the moves that a crash has left ([`departures`](super::departures)). Then it asks for
//! what is due, oldest first, and brings it over, item by item
//! ([`relocation`](tributary_functions::engines::relocation)). What is done is due no more, so the next run goes on
//! where this one has stopped, whatever stopped it.
//!
//! *A run ends inside its slice.* Each page and each item waits for its turn at the budget of the
//! background, and none is begun after the deadline ([`Turns`]). The moves have half of the slice.
//!
//! *A bad item stops no other.* It is named in the log, counted, and stays where it is. Rows are read
//! as they are, so an item that cannot be read does not end its page.
//!
//! *Nothing that is not in a colder container expires*: an item gets its time to live only with the
//! mark that it is there. So a migration that is late, or does not run at all, loses nothing; its lag
//! is measured, and there is an alert on it.

use std::collections::{BTreeMap, BTreeSet};

use futures::{FutureExt, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use tributary_functions::{
    cosmos::{Query, Scope, StoreError, retry},
    engines::relocation::{Relocation, carry},
    projection::Background,
    values::Timestamp,
};

use super::{
    departures,
    feeds::News,
    model::{ItemId, NewsItem, PartitionKey, Place, Store},
    moves,
    turns::{AT_A_TIME, PAGE, Slice, Turns},
};

/// What a run has done.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Items that were brought to the colder container, by their partitions.
    pub(super) moved: BTreeMap<PartitionKey, u64>,
    /// Items that were there, by an earlier run that did not end.
    pub(super) already_there: u64,
    /// Items that could not be brought there, and moves that could not be ended.
    pub(super) failed: u64,
    /// When the oldest item was published that is left.
    pub(super) oldest_left: Option<Timestamp>,
    /// Whether all that was due is done.
    pub(super) is_complete: bool,
}

impl Done {
    /// How many items were brought over.
    pub(super) fn n_moved(&self) -> u64 {
        self.moved.values().sum()
    }

    fn leave(&mut self, published: Timestamp) {
        self.oldest_left = Some(self.oldest_left.map_or(published, |one| one.min(published)));
    }
}

/// What is due in a container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dues {
    pub(super) from: Store,
    pub(super) to: Store,
    /// What was published before.
    pub(super) before: Timestamp,
}

/// An item that is due, as the store has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DueRow {
    id: String,
    #[serde(default)]
    partition_key: Value,
    published_date: String,
    #[serde(default)]
    arrived_from: Value,
}

/// An item that is due.
#[derive(Debug)]
struct Due {
    id: ItemId,
    partition_key: PartitionKey,
    published_date: Timestamp,
    /// The place from which it may depart still.
    arrived_from: Option<Place>,
}

impl DueRow {
    /// Returns the partition of the item, if it is one.
    pub(super) fn partition_key(&self) -> Option<PartitionKey> {
        PartitionKey::deserialize(&self.partition_key).ok()
    }

    fn published_date(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.published_date).ok()
    }

    fn due(&self) -> Option<Due> {
        Some(Due {
            id: ItemId::parse(self.id.clone()).ok()?,
            partition_key: self.partition_key()?,
            published_date: self.published_date()?,
            arrived_from: Option::deserialize(&self.arrived_from).ok()?,
        })
    }
}

impl Dues {
    /// Returns the next items that are due, oldest first, after one.
    async fn page(&self, news: &News, after: Option<&DueRow>) -> Result<Vec<DueRow>, StoreError> {
        let page = match after {
            Some(_) => " AND c.publishedDate >= @date AND (c.publishedDate > @date OR c.id > @id)",
            None => "",
        };
        let text = format!(
            "SELECT TOP @top c.id, c.partitionKey, c.publishedDate, c.arrivedFrom FROM c WHERE \
             c.state = 'live' AND c.publishedDate < @before{page} \
             ORDER BY c.state ASC, c.publishedDate ASC, c.id ASC"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", PAGE)?
            .with_parameter("@before", self.before)?;
        if let Some(DueRow { id, published_date, .. }) = after {
            query = query.with_parameter("@date", published_date)?.with_parameter("@id", id)?;
        }
        news.container(self.from).query(query, Scope::Container, PAGE).await
    }
}

/// A run that is under way.
pub(super) struct Run<'a> {
    news: News,
    turns_of_moves: Turns<'a>,
    turns: Turns<'a>,
    dues: Dues,
    /// The last item that was asked for.
    last: Option<DueRow>,
    has_asked_for_all: bool,
    pub(super) done: Done,
}

impl<'a> Run<'a> {
    /// Begins a run.
    pub(super) fn begin(news: &News, background: &'a Background, slice: Slice, dues: Dues) -> Self {
        Self {
            news: news.latest_committed().in_background(),
            turns_of_moves: Turns::begin(background, slice.half()),
            turns: Turns::begin(background, slice),
            dues,
            last: None,
            has_asked_for_all: false,
            done: Done::default(),
        }
    }

    /// Ends the moves from some containers that a crash has left; the migration is known to have passed
    /// this date.
    pub(super) async fn end_moves(
        &mut self,
        stores: &[Store],
        passed: Timestamp,
    ) -> Result<departures::Ended, StoreError> {
        let ended = departures::end_all(&self.news, &self.turns_of_moves, stores, passed).await?;
        self.done.failed += ended.failed;
        Ok(ended)
    }

    /// Returns the next items that are due; `None` when there are no more, or the slice is over.
    pub(super) async fn next_rows(&mut self) -> Result<Option<Vec<DueRow>>, StoreError> {
        let page = self.dues.page(&self.news, self.last.as_ref());
        let Some(rows) = self.turns.next(page).await else {
            if let Some(date) = self.last.as_ref().and_then(DueRow::published_date) {
                self.done.leave(date);
            }
            return Ok(None);
        };
        let rows = rows?;
        match rows.last() {
            Some(last) => self.last = Some(last.clone()),
            None => self.has_asked_for_all = true,
        }
        Ok((!rows.is_empty()).then_some(rows))
    }

    /// Returns true if all that is due was asked for.
    pub(super) fn has_asked_for_all(&self) -> bool {
        self.has_asked_for_all
    }

    /// Brings the next items over, and returns their partitions; `None` when nothing is left, or the
    /// slice is over.
    pub(super) async fn next_page(&mut self) -> Result<Option<BTreeSet<PartitionKey>>, StoreError> {
        let Some(rows) = self.next_rows().await? else {
            self.done.is_complete = self.has_asked_for_all && self.done.failed == 0;
            return Ok(None);
        };
        let mut dues = Vec::with_capacity(rows.len());
        for row in rows {
            match row.due() {
                Some(due) => dues.push(due),
                // It is in no list.
                None => self.note_failed(&row.id, &StoreError::unreadable()),
            }
        }
        let (news, of, turns) = (&self.news.clone(), self.dues, self.turns);
        let mut ends = stream::iter(dues)
            .map(|due| async move { (turns.next(relocate(news, of, &due).boxed()).await, due) })
            .buffer_unordered(AT_A_TIME);
        let mut touched = BTreeSet::new();
        while let Some((relocated, due)) = ends.next().await {
            match relocated {
                Some(Ok(Relocation::Nothing)) => {}
                Some(Ok(Relocation::Moved)) => {
                    *self.done.moved.entry(due.partition_key.clone()).or_default() += 1;
                    touched.insert(due.partition_key);
                }
                Some(Ok(Relocation::AlreadyThere)) => {
                    self.done.already_there += 1;
                    touched.insert(due.partition_key);
                }
                Some(Err(error)) => {
                    self.note_failed(due.id.as_str(), &error);
                    self.done.leave(due.published_date);
                }
                None => self.done.leave(due.published_date),
            }
        }
        Ok(Some(touched))
    }

    fn note_failed(&mut self, id: &str, error: &StoreError) {
        let container = self.news.container(self.dues.from).id();
        tracing::warn!(%error, container, item.id = id, "An item stays where it is");
        self.done.failed += 1;
    }

    /// Returns the moment before which nothing that was due is left.
    pub(super) fn all_done_before(&self) -> Timestamp {
        let asked_for = match &self.last {
            _ if self.has_asked_for_all => self.dues.before,
            Some(last) => last.published_date().unwrap_or(Timestamp::EPOCH),
            None => Timestamp::EPOCH,
        };
        self.done.oldest_left.map_or(asked_for, |left| left.min(asked_for))
    }
}

/// Brings an item over. A move that has brought it here is ended first ([`moves`]).
async fn relocate(news: &News, dues: Dues, due: &Due) -> Result<Relocation, StoreError> {
    if let Some(Place { store, partition_key }) = &due.arrived_from {
        retry(async |_| moves::end(news, *store, partition_key, &due.id).await).await?;
    }
    let (from, to) = (news.container(dues.from), news.container(dues.to));
    let (key, id) = (due.partition_key.as_str(), due.id.as_str());
    retry(async |_| carry::<NewsItem>(from, to, key, id).await).await
}
