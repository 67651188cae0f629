//! Fan-outs: the value of one source goes to many items that have a copy of it, such as the name of a sender
//! on messages, or the title of a room on its bookings.
//!
//! # How a domain uses it
//!
//! 1. Each target keeps, beside the copy, the version of the source that the copy was made from. A
//!    target with several copies keeps one version for each. Each write of a source raises its
//!    version.
//! 2. A type with the containers implements [`FanOut`]: which change is of a source, which targets
//!    have an older copy (a query, in one partition or in all), and a target with the newer copy (a
//!    pure function).
//! 3. [`FanOutProjection`] of it is a line among the projections of the domain. It reads the change
//!    feed of the sources.
//! 4. The projection that reads the change feed of the targets calls [`repair`] for each copy.
//! 5. A line in `tests/it/` puts both under the proof (`tributary_testing::proof::fan_out`).
//!
//! # Why every copy ends with the newest value
//!
//! 1. *No older value replaces a newer one.* [`FanOut::update`] returns a target only over an older
//!    version of the copy, and it is written under the ETag that was read. So two fan-outs, a repair
//!    and a command that meet at one target leave the newest value, and the work of each other.
//! 2. *A target that exists when the fan-out looks is found.* The fan-out reads the source in the
//!    delivered version or a newer one, and the targets in their latest committed state, until a
//!    query finds no older copy.
//! 3. *A target that is created later is repaired.* A command reads value `a` of version `u`. Then version
//!    `u + 1` is written, and its fan-out looks for targets. Then the command creates its target with `a`.
//!    The change of the target is delivered after `u + 1` was written, and [`repair`] compares the two in
//!    their latest committed state. The fan-out and the repair cannot both miss the other's item: each would
//!    have to read before the other's item was written, and each reads after its own item was written.
//!    These four conditions contradict each other.
//! 4. *An interruption loses nothing.* The query finds older copies only, so a second delivery
//!    continues with the remaining targets. A change is acknowledged only when a query has found none, or when
//!    a continuation was written to the container of the source. The change feed delivers the
//!    continuation behind everything that has come meanwhile.
//! 5. *It ends.* Every slice updates at least one target, unless other work has spent the budget, and the
//!    slice after the last target writes no continuation. A pass through the query that updates nothing is
//!    the last one, too: each target that it found has the newest value by now, or can never have it.
//! 6. *It holds up no request.* It uses at most the request units a second that its [`Background`] allows, at
//!    low priority. A target that other writers change all the time gets a few attempts, and is then a lost
//!    race, after the other targets.
//! 7. *A bad target stops no other.* A target that cannot be read, or that the store refuses with the
//!    new value, is passed over. A pass that updates nothing but meets such a target fails with its
//!    error, and the change becomes a dead letter: every other target has the newest value by then.
//!    A pass that has met `MAX_BAD_TARGETS` ends in the same way: no slice would get past very many of them.

use std::{collections::VecDeque, pin::pin, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

pub use super::Origin;
use super::{Background, DeliveredVersion, Effect, NotedErrors, Projection};
use crate::cosmos::{Container, ETag, Query, Reason, Scope, StoreError, Stored};

/// The targets that are read at a time; a page is at most 4 MB (service limit).
const PAGE_TARGETS: u32 = 100;

/// The targets that are written at a time.
const MAX_CONCURRENT_WRITES: usize = 8;

/// The targets that a pass passes over before it fails.
const MAX_BAD_TARGETS: usize = 1_000;

/// The retries of a target in one delivery: some 0.4 s.
const MAX_TARGET_RETRIES: usize = 8;

/// The definition of a fan-out: its source, its targets and the copied value.
pub trait FanOut: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// The property of the sources that is the partition key of their container.
    const PARTITION_KEY: &'static str;
    /// An item of the container of the sources, with its type.
    type Change: Serialize + DeserializeOwned + Send + Sync;
    /// A source.
    type Source: Send + Sync;
    /// An item of the container of the targets, with its type.
    type Target: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Returns the container of the sources, whose change feed is read.
    fn sources(&self) -> &Container;

    /// Returns the container of the targets.
    fn targets(&self) -> &Container;

    /// Returns the source of a change and its version, for the source itself, its tombstone and a
    /// continuation; `None` for all else.
    fn origin(change: &Self::Change) -> Option<Origin>;

    /// Returns the source, unless the item is something else, such as its tombstone.
    fn source(item: Self::Change) -> Option<Self::Source>;

    /// Returns the scope of the targets of a source.
    fn scope(source: &Self::Source) -> Scope<'_> {
        let _ = source;
        Scope::Container
    }

    /// Returns the query of the targets, as whole items, whose copy of the source is older than the source.
    fn outdated(source: &Self::Source) -> Result<Query, StoreError>;

    /// Returns the target with the value of the source; `None` unless it has an older copy of it.
    fn update(target: &Self::Target, source: &Self::Source) -> Option<Update<Self::Target>>;

    /// Returns the continuation, an item whose delivery resumes the fan-out, and its id in the partition of
    /// the source. No other item has that id, and its time to live is that of a tombstone.
    fn continuation(source: &Self::Source) -> (String, Self::Change);

    /// Does the other work for a source before its targets are updated.
    fn prepare(
        &self,
        _source: &Self::Source,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }
}

/// A target as it is to be written.
pub struct Update<T> {
    /// The logical partition of the target.
    pub partition: String,
    /// The id of the target.
    pub id: String,
    /// The target.
    pub item: T,
}

impl<T> Update<T> {
    /// Creates the update of the target with this partition key and id.
    pub fn new(partition: &str, id: &str, item: T) -> Self {
        Self { partition: partition.to_owned(), id: id.to_owned(), item }
    }
}

/// The projection that copies the newest value of each source to its targets.
pub struct FanOutProjection<F> {
    fan_out: F,
    background: Background,
    sources: Container,
    targets: Container,
}

impl<F: FanOut> FanOutProjection<F> {
    /// Creates the projection, which works in the background.
    pub fn new(fan_out: F, background: &Background) -> Self {
        let sources = fan_out.sources().in_background();
        let targets = fan_out.targets().in_background();
        Self { fan_out, background: background.clone(), sources, targets }
    }
}

impl<F: FanOut> Projection for FanOutProjection<F> {
    const FUNCTION: &'static str = F::FUNCTION;
    const PARTITION_KEY: &'static str = F::PARTITION_KEY;
    /// Few sources at a time: each fans out by itself, and they share one budget.
    const CONCURRENCY: usize = 4;
    type Change = F::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    /// Returns the name of the source for a continuation, too, so that a batch applies one of both. A source in
    /// its first version has no older copies.
    fn source(change: &F::Change) -> Option<(String, u64)> {
        let origin = F::origin(change).filter(|origin| origin.version > 1)?;
        Some((origin.name(), origin.version))
    }

    async fn apply(&self, change: &F::Change) -> Result<Effect, StoreError> {
        let deadline = self.background.deadline();
        let pacer = &self.background.pacer;
        let Some(origin) = F::origin(change) else {
            return Ok(Effect::Unchanged);
        };
        // The value is read again: it may be newer, and the host may have rewritten it.
        let version = |item: &F::Change| F::origin(item).map(|origin| origin.version);
        let place = (origin.partition.as_str(), origin.id.as_str());
        let read = DeliveredVersion(origin.version).read(&self.sources, place, version);
        let stored = pacer.charge(read).await?;
        // guard: rename: the user is read again =>
        //     `stored.and_then(|_|
        //     F::source(serde_json::from_value(serde_json::to_value(change).unwrap()).unwrap()))`
        let Some(source) = stored.and_then(|stored| F::source(stored.item)) else {
            return Ok(Effect::Unchanged);
        };
        pacer.charge(self.fan_out.prepare(&source)).await?;
        let mut effect = Effect::Unchanged;
        loop {
            match self.pass(&source, deadline).await? {
                Pass::Idle => return Ok(effect),
                Pass::Complete if Instant::now() < deadline => effect = Effect::Applied,
                Pass::Complete | Pass::OutOfTime => {
                    // guard: rename: its source is written again before the acknowledgement
                    self.continue_later(&origin, &source).await?;
                    return Ok(Effect::Applied);
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct FoundTarget<T> {
    #[serde(flatten)]
    item: T,
    #[serde(rename = "_etag")]
    etag: String,
}

/// The outcome of one pass through the targets with an older copy.
enum Pass {
    /// It has updated no target.
    Idle,
    /// It has reached all targets.
    Complete,
    /// The time was over. There may be more targets.
    OutOfTime,
}

impl<F: FanOut> FanOutProjection<F> {
    async fn pass(&self, source: &F::Source, deadline: Instant) -> Result<Pass, StoreError> {
        let pacer = &self.background.pacer;
        let targets = self.targets.latest_committed();
        let pages = targets.row_pages::<FoundTarget<F::Target>>(
            F::outdated(source)?,
            F::scope(source),
            PAGE_TARGETS,
        );
        let mut pages = pin!(pages.await?);
        let (mut updated, mut errors) = (false, NotedErrors::default());
        loop {
            let page = match pacer.run(deadline, pages.try_next()).await {
                Some(page) => page?,
                None => return Ok(Pass::OutOfTime),
            };
            let Some(page) = page else {
                return match errors.into_result() {
                    Err(error) if !updated || error.is_race() => Err(error),
                    _ if updated => Ok(Pass::Complete),
                    _ => Ok(Pass::Idle),
                };
            };
            let targets = page.into_iter().filter_map(|row| {
                // guard: rename: a target that cannot be read is reported => `row.ok()?`
                let FoundTarget { item, etag } =
                    errors.note(row.map_err(|_| StoreError::unreadable()))?;
                Some(Stored { item, etag: ETag::from(etag) })
            });
            let targets: Vec<_> = targets.collect();
            let writes = targets.into_iter().enumerate().map(async |(n, target)| {
                // The first target is attempted however late it is.
                if (n > 0 || updated) && Instant::now() >= deadline {
                    return Err(target);
                }
                Ok(pacer.run(deadline, update::<F>(&self.targets, target, source)).await)
            });
            let mut writes = stream::iter(writes).buffer_unordered(MAX_CONCURRENT_WRITES);
            let (mut late, mut all_in_time, mut page_updated) = (VecDeque::new(), true, false);
            // Writes that have begun end, also after the deadline.
            while let Some(written) = writes.next().await {
                match written {
                    Ok(Some(written)) => {
                        // guard: rename: a target that the store refuses is passed over =>
                        //     `page_updated |= written? == Effect::Applied`
                        page_updated |= errors.pass_over(written)? == Some(Effect::Applied);
                    }
                    Ok(None) => all_in_time = false,
                    Err(target) => late.push_back(target),
                }
            }
            drop(writes);
            updated |= page_updated;
            // If the first target is bad, another one is attempted: every slice makes progress.
            while !updated && let Some(target) = late.pop_front() {
                match pacer.run(deadline, update::<F>(&self.targets, target, source)).await {
                    Some(written) => updated = errors.pass_over(written)? == Some(Effect::Applied),
                    None => return Ok(Pass::OutOfTime),
                }
            }
            all_in_time &= late.is_empty();
            if errors.count() > MAX_BAD_TARGETS {
                return errors.into_result().map(|()| Pass::Complete);
            }
            if !all_in_time {
                return Ok(Pass::OutOfTime);
            }
        }
    }

    async fn continue_later(&self, origin: &Origin, source: &F::Source) -> Result<(), StoreError> {
        let (id, item) = F::continuation(source);
        let write = self.sources.upsert(&origin.partition, &id, &item);
        self.background.pacer.charge(write).await?;
        tracing::info!(
            function = F::FUNCTION,
            document.id = origin.id,
            "A fan-out goes on with the next delivery"
        );
        Ok(())
    }
}

/// Compares the copy in a target, whose own change was delivered, with the source, and updates it if it is
/// older. `source` and `target` are partition key and id. `copied` is the version from which the copy was
/// made.
pub async fn repair<F: FanOut>(
    fan_out: &F,
    source: (&str, &str),
    copied: u64,
    target: (&str, &str),
) -> Result<Effect, StoreError> {
    // A change of the source may be on its way to the replicas, and no later delivery would repair the target.
    let newest = fan_out.sources().latest_committed().read::<F::Change>(source.0, source.1).await?;
    let Some(Stored { item: newest, .. }) = newest else {
        return Ok(Effect::Unchanged);
    };
    let is_newer = F::origin(&newest).is_some_and(|origin| origin.version > copied);
    // guard: name repair => `None`
    let Some(source) = F::source(newest).filter(|_| is_newer) else {
        return Ok(Effect::Unchanged);
    };
    match fan_out.targets().latest_committed().read(target.0, target.1).await? {
        Some(stored) => update::<F>(fan_out.targets(), stored, &source).await,
        None => Ok(Effect::Unchanged),
    }
}

/// Writes the value of a source to one target, unless the target has that value or a newer one.
///
/// If other writers change the target all the time, this is a lost race after a few attempts, with back-off
/// and jitter between them. The change is applied again later.
async fn update<F: FanOut>(
    targets: &Container,
    mut stored: Stored<F::Target>,
    source: &F::Source,
) -> Result<Effect, StoreError> {
    let mut pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(64))
        .with_max_times(MAX_TARGET_RETRIES)
        .with_jitter()
        .build();
    while let Some(Update { partition, id, item }) = F::update(&stored.item, source) {
        // guard: rename: If-Match => `targets.upsert(&partition, &id, &item).await`
        let lost_race = match targets.replace(&partition, &id, &item, &stored.etag).await {
            Ok(_) => return Ok(Effect::Applied),
            // The target was deleted meanwhile, and its copy with it.
            Err(error) if error.reason == Reason::NotFound => break,
            // Another writer has changed the target meanwhile.
            Err(error) if error.is_race() => error,
            Err(error) => return Err(error),
        };
        // guard: rename: an item under constant writes is passed over =>
        //     `sleep(pauses.next().unwrap_or_default()).await`
        sleep(pauses.next().ok_or(lost_race)?).await;
        match targets.latest_committed().read(&partition, &id).await? {
            Some(newer) => stored = newer,
            None => break,
        }
    }
    Ok(Effect::Unchanged)
}
