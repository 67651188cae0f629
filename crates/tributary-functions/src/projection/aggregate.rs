//! Aggregates: a count or a sum by a key, such as the messages of a sender or the sales of a day.
//!
//! # How a domain uses it
//!
//! 1. A container for the totals, with the partition key `/key` and a time to live of -1 (only items that say so
//!    expire).
//! 2. A type implements [`Aggregate`]. [`Aggregate::contributions`] is the definition: the amounts that one
//!    source, in one state, adds to which keys. [`Aggregate::is_source`] names the types of items that never
//!    contribute: their changes cost nothing.
//! 3. [`AggregateProjection`] of it, with the containers, is a line among the projections of the domain.
//! 4. A query reads the number by [`total`]: one point read. [`totals`] reads those of many keys.
//! 5. A line in `tests/it/` puts it under the proof (`tributary_testing::proof`). The audit checks and repairs it
//!    from the same definition (`AggregateChecks`).
//!
//! | item of the container | logical partition | content |
//! | --- | --- | --- |
//! | `Holder` | `source:<source>` | the version of the source, its contributions, the keys that may not have them yet |
//! | `Share` | the key | the contribution of one source to this key, and of which version |
//! | `Total` | the key | the sum of the shares of the partition |
//!
//! # Why every total ends right
//!
//! *Given*: every write of a source that changes a contribution raises its version, a deleted source leaves a
//! tombstone with the version after its last, and the newest version is delivered at least once after it was
//! written.
//!
//! 1. *A total is the sum of its shares.* One transaction writes a share, and changes the total by the
//!    difference, each under its ETag or as a new item. So a lost response, a duplicate delivery and a second
//!    instance change a total once.
//! 2. *The holder has the versions in order.* It is written under its ETag and only by a newer version, so the
//!    newest one is the last in it.
//! 3. *A source may move from one key to another between two deliveries*, and its new state does not name the old
//!    key: the id was created again by another owner. The holder knows the last keys. The write of a version
//!    lists as pending, before any share changes, each key whose contribution is new, gone or of another amount.
//!    A key that is not pending has the share of the version in the holder.
//! 4. *Each pending key gets the share of that version*: its amount, or nothing. A share takes newer versions
//!    only, and a share of nothing stays as long as a tombstone. So a slow delivery of an older version finds a
//!    newer share and stops.
//! 5. *A key leaves the pending ones* under the ETag of the holder, when the shares of all of them have that
//!    version. A newer version in between has taken over the list.
//! 6. *A crash anywhere* leaves the pending keys in the holder. The delivery was not acknowledged; the next one,
//!    of this version or a newer one, continues with them.
//! 7. *It ends.* A version writes the holder at most twice and each share once. A change that keeps losing
//!    against other writers of a total is a lost race, and is applied again later.
//! 8. *The first version without a contribution is skipped*, without a read: no older version can have
//!    contributed. A later one writes the holder even where there is none: an older version that contributes may
//!    be delivered late, and would be counted if no holder had a newer version.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
};

use backon::Retryable;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    ChangeFeedItem, Effect, NotedErrors, Origin, Projection, apply::short_pauses, origin::sound,
};
use crate::{
    cosmos::{Container, Query, Reason, Scope, StoreError, Stored, Transaction},
    engines::tombstone,
    values::may_be_rewritten_by_host,
};

const PAGE_AMOUNTS: u32 = 1_000;

const MAX_CONCURRENT_READS: usize = 8;

/// The most keys to which a source contributes. A key costs two reads and a transaction.
const MAX_KEYS: usize = 32;

/// The definition of a count or a sum.
pub trait Aggregate: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// An item of the container of the sources, with its type. The ids of sources have no `/`, `\`, `?` or `#`.
    type Change: ChangeFeedItem;

    /// Returns the contributions of a source in this state; none of a tombstone. Those to one key add up. A change
    /// with more than 32 keys becomes a dead letter.
    fn contributions(change: &Self::Change) -> impl IntoIterator<Item = Contribution>;

    /// Returns false for an item of a type that never contributes, nor is the tombstone of one that does.
    fn is_source(_change: &Self::Change) -> bool {
        true
    }
}

/// The contribution of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The key of the total.
    pub key: String,
    /// The amount.
    pub amount: i64,
}

impl Contribution {
    /// Creates a contribution of an amount to the total of a key. A count has the amount 1.
    pub fn new(key: impl Into<String>, amount: i64) -> Self {
        Self { key: key.into(), amount }
    }
}

/// Reads the total of a key: one point read. Nothing contributed is 0.
pub async fn total(totals: &Container, key: &str) -> Result<i64, StoreError> {
    let stored: Option<Stored<Total>> = totals.read(key, Total::ID).await?;
    Ok(stored.map_or(0, |total| total.item.value))
}

/// Reads the totals of many keys, in their order: one point read for each, since each key is a logical partition.
pub async fn totals(
    totals: &Container,
    keys: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<i64>, StoreError> {
    let keys: Vec<String> = keys.into_iter().map(|key| key.as_ref().to_owned()).collect();
    let reads = stream::iter(keys).map(|key| async move { total(totals, &key).await });
    reads.buffered(MAX_CONCURRENT_READS).try_collect().await
}

/// The projection that updates the totals of an aggregate from its sources.
pub struct AggregateProjection<A> {
    pub(crate) sources: Container,
    pub(crate) totals: Container,
    definition: PhantomData<fn() -> A>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    id: String,
    key: String,
    version: u64,
    contribution: Option<Contribution>,
    /// The contributions after the first: most sources have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Contribution>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pending: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Share {
    id: String,
    key: String,
    pub version: u64,
    pub amount: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Total {
    id: String,
    key: String,
    pub value: i64,
}

impl Total {
    pub(crate) const ID: &'static str = "total";
}

impl Share {
    const PREFIX: &'static str = "of ";

    pub(crate) fn id(source: &str) -> String {
        format!("{}{source}", Self::PREFIX)
    }

    pub(crate) fn source(id: &str) -> Option<(&str, &str)> {
        id.strip_prefix(Self::PREFIX).map(Origin::split_name)
    }
}

impl Holder {
    const ID: &'static str = "holder";

    fn partition(source: &str) -> String {
        format!("source:{source}")
    }

    fn new(
        source: &str,
        version: u64,
        contributions: Vec<Contribution>,
        before: Option<Self>,
    ) -> Self {
        let before =
            before.map(|before| (before.contributions().cloned().collect(), before.pending));
        let (earlier, mut pending): (Vec<_>, _) = before.unwrap_or_default();
        for (one, other) in [(&earlier, &contributions), (&contributions, &earlier)] {
            pending.extend(one.iter().filter(|it| !other.contains(it)).map(|it| it.key.clone()));
        }
        let ttl = contributions.is_empty().then_some(tombstone::TTL_SECONDS);
        let id = Self::ID.to_owned();
        let key = Self::partition(source);
        let mut contributions = contributions.into_iter();
        let contribution = contributions.next();
        Self { id, key, version, contribution, others: contributions.collect(), pending, ttl }
    }

    fn contributions(&self) -> impl Iterator<Item = &Contribution> {
        self.contribution.iter().chain(&self.others)
    }

    fn amount(&self, key: &str) -> i64 {
        self.contributions().find(|share| share.key == key).map_or(0, |share| share.amount)
    }
}

pub(crate) fn contributions<A: Aggregate>(change: &A::Change) -> Vec<Contribution> {
    let mut sums = BTreeMap::<String, i64>::new();
    for Contribution { key, amount } in A::contributions(change) {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(amount);
    }
    sums.into_iter().map(|(key, amount)| Contribution { key, amount }).collect()
}

impl<A: Aggregate> Projection for AggregateProjection<A> {
    const FUNCTION: &'static str = A::FUNCTION;
    /// Few sources at a time: those of one key write the same total.
    const CONCURRENCY: usize = 4;
    type Change = A::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    fn source(change: &A::Change) -> Option<(String, u64)> {
        let origin = change.origin().filter(|_| A::is_source(change))?;
        Some((origin.name(), origin.version))
    }

    async fn apply(&self, change: &A::Change) -> Result<Effect, StoreError> {
        let delivered = contributions::<A>(change);
        // Step 8.
        let is_first = change.origin().is_some_and(|origin| origin.version == 1);
        if is_first && delivered.is_empty() {
            return Ok(Effect::Unchanged);
        }
        let is_rewritten = delivered.iter().any(|share| may_be_rewritten_by_host(&share.key));
        let change = sound(change, is_rewritten, &self.sources).await?;
        let Some((origin, change)) = change.and_then(|change| Some((change.origin()?, change)))
        else {
            return Ok(Effect::Unchanged);
        };
        let totals = &self.totals;
        let source = origin.name();
        let contributions = contributions::<A>(&change);
        if contributions.len() > MAX_KEYS {
            tracing::error!(document.id = origin.id, "A source contributes to more than 32 keys");
            return Err(StoreError::new(Reason::TooLarge, false));
        }
        let (holder, effect) = write_holder(totals, &source, origin.version, contributions).await?;
        if effect == Effect::Older || holder.item.pending.is_empty() {
            return Ok(effect);
        }
        // A share that cannot be written stops no other.
        let mut errors = NotedErrors::default();
        for key in &holder.item.pending {
            let write = async || update_share(totals, &source, key, &holder.item).await;
            let written = write.retry(short_pauses()).when(StoreError::is_race).await;
            if errors.note(written) == Some(Effect::Older) {
                return Ok(Effect::Older);
            }
        }
        errors.into_result()?;
        let settled = Holder { pending: BTreeSet::new(), ..holder.item };
        totals.replace(&Holder::partition(&source), Holder::ID, &settled, &holder.etag).await?;
        Ok(Effect::Applied)
    }
}

impl<A: Aggregate> AggregateProjection<A> {
    /// Creates the projection from a container of sources, whose change feed it reads, to one of totals.
    pub fn new(sources: &Container, totals: &Container) -> Self {
        Self { sources: sources.clone(), totals: totals.clone(), definition: PhantomData }
    }
}

async fn write_holder(
    totals: &Container,
    source: &str,
    version: u64,
    contributions: Vec<Contribution>,
) -> Result<(Stored<Holder>, Effect), StoreError> {
    let partition = Holder::partition(source);
    let before: Option<Stored<Holder>> = totals.read(&partition, Holder::ID).await?;
    match before {
        Some(before) if before.item.version > version => Ok((before, Effect::Older)),
        Some(before) if before.item.version == version => Ok((before, Effect::Unchanged)),
        before => {
            let (known, etag) = before.map(|before| (before.item, before.etag)).unzip();
            let item = Holder::new(source, version, contributions, known);
            let etag = totals.put(&partition, Holder::ID, &item, etag.as_ref()).await?;
            Ok((Stored { item, etag }, Effect::Applied))
        }
    }
}

async fn update_share(
    totals: &Container,
    source: &str,
    key: &str,
    holder: &Holder,
) -> Result<Effect, StoreError> {
    let id = Share::id(source);
    let (before, total) =
        futures::try_join!(totals.read::<Share>(key, &id), totals.read::<Total>(key, Total::ID))?;
    match before.as_ref().map(|before| before.item.version.cmp(&holder.version)) {
        Some(Ordering::Greater) => return Ok(Effect::Older),
        Some(Ordering::Equal) => return Ok(Effect::Unchanged),
        Some(Ordering::Less) | None => {}
    }
    write_share(totals, (key, &id), (holder.version, holder.amount(key)), (before, total)).await
}

async fn write_share(
    totals: &Container,
    (key, id): (&str, &str),
    (version, amount): (u64, i64),
    (before, total): (Option<Stored<Share>>, Option<Stored<Total>>),
) -> Result<Effect, StoreError> {
    let (known, etag) = before.map(|before| (before.item, before.etag)).unzip();
    let ttl = (amount == 0).then_some(tombstone::TTL_SECONDS);
    let share = Share { id: id.to_owned(), key: key.to_owned(), version, amount, ttl };
    let difference = amount.saturating_sub(known.map_or(0, |known| known.amount));
    let mut transaction = Transaction::new(key).put(id, &share, etag.as_ref())?;
    if difference != 0 {
        let (total, etag) = total.map(|total| (total.item, total.etag)).unzip();
        let value = total.map_or(0, |total| total.value).saturating_add(difference);
        let total = Total { id: Total::ID.into(), key: key.to_owned(), value };
        transaction = transaction.put(Total::ID, &total, etag.as_ref())?;
    }
    match totals.transact(transaction).await {
        Ok(_) => Ok(Effect::Applied),
        // An item has expired meanwhile: the next attempt reads again.
        Err(refusal) if refusal.error.reason == Reason::NotFound => Err(StoreError::race(false)),
        Err(refusal) => Err(refusal.error),
    }
}

pub(crate) async fn sum_of_shares(totals: &Container, key: &str) -> Result<i64, StoreError> {
    let text = "SELECT VALUE c.amount FROM c WHERE c.key = @key AND IS_DEFINED(c.amount)";
    let query = Query::from(text).with_parameter("@key", key)?;
    let totals = totals.latest_committed();
    let pages = totals.pages::<i64>(query, Scope::Partition(key), PAGE_AMOUNTS).await?;
    let add = async |sum: i64, page: Vec<i64>| Ok(page.into_iter().fold(sum, i64::saturating_add));
    pages.try_fold(0, add).await
}

/// The repair of an audit: writes the amount of the definition, whatever the version, and the total with it.
pub(crate) async fn repair_share(
    totals: &Container,
    (key, id): (&str, &str),
    version: u64,
    amount: i64,
) -> Result<Effect, StoreError> {
    let before = totals.read::<Share>(key, id).await?;
    let total = totals.read::<Total>(key, Total::ID).await?;
    if before.as_ref().is_some_and(|before| before.item.amount == amount) {
        return Ok(Effect::Unchanged);
    }
    let version = before.as_ref().map_or(version, |before| before.item.version.max(version));
    write_share(totals, (key, id), (version, amount), (before, total)).await
}

/// The repair of an audit. A share that changes meanwhile changes the total, so the store refuses this write.
pub(crate) async fn repair_total(totals: &Container, key: &str) -> Result<(), StoreError> {
    let total: Option<Stored<Total>> = totals.read(key, Total::ID).await?;
    let (before, etag) = total.map(|total| (total.item.value, total.etag)).unzip();
    let value = sum_of_shares(totals, key).await?;
    if before != Some(value) {
        let total = Total { id: Total::ID.into(), key: key.to_owned(), value };
        totals.put(key, Total::ID, &total, etag.as_ref()).await?;
    }
    Ok(())
}
