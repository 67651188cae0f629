//! Fan-outs: the value of one source goes to many items that have a copy of it, such as the name of a sender on
//! messages, or the title of a room on its bookings.
//!
//! # How a domain uses it
//!
//! 1. Each target keeps, beside each copy, the version of the source that the copy was made from. Each write of a
//!    source raises its version.
//! 2. The items of the container of the sources have a variant for a [`Continuation`].
//! 3. A type implements [`FanOut`]: which targets have an older copy (a query; [`older_copies`] is the usual
//!    one), and a target with the newer copy (a pure function).
//! 4. [`FanOutProjection`] of it, with the containers, is a line among the projections of the domain. It reads
//!    the change feed of the sources.
//! 5. A projection of the change feed of the targets repairs each copy. [`RepairProjection`] does nothing else,
//!    for a type that implements [`Repairs`]; [`IntegrityProjection`](super::IntegrityProjection) also removes
//!    the children of deleted parents.
//! 6. A line in `tests/it/` puts both under the proof (`tributary_testing::proof::fan_out`).
//!
//! # Why every copy ends with the newest value
//!
//! 1. *No older value replaces a newer one.* [`FanOut::update`] returns a target only over an older version of
//!    the copy, and it is written under the ETag that was read.
//! 2. *A target that exists when the fan-out looks is found.* The fan-out reads the source in the delivered
//!    version or a newer one, and the targets in their latest committed state, until a query finds no older copy.
//! 3. *A target that is created later is repaired*: a command reads version `u`, `u + 1` is written and its
//!    fan-out looks for targets, and then the command creates its target. Its change is delivered after `u + 1`
//!    was written, and the repair compares the two in their latest committed state. The fan-out and the repair
//!    cannot both miss the other's item: each reads after its own item was written.
//! 4. *An interruption loses nothing.* The query finds older copies only, so a second delivery continues with the
//!    remaining targets. A change is acknowledged only when a query has found none, or when a continuation was
//!    written to the container of the source, which the change feed delivers behind everything that has come
//!    meanwhile.
//! 5. *It ends.* Every slice updates at least one target, unless other work has spent the budget. A pass through
//!    the query that updates nothing is the last one: each target that it found has the newest value by now, or
//!    can never have it.
//! 6. *It holds up no request.* It uses at most the request units a second that its [`Background`] allows, at low
//!    priority. A target that others change all the time gets a few attempts, and is then a lost race, after the
//!    other targets.
//! 7. *A bad target stops no other.* A target that cannot be read, or that the store refuses, is passed over. A
//!    pass that updates nothing but meets such a target, or one that has met `MAX_BAD_TARGETS`, fails with its
//!    error, and the change becomes a dead letter.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use backon::BackoffBuilder;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

use super::{
    Background, ChangeFeedItem, Effect, FrameworkItem, NotedErrors, Origin, Projection,
    apply::short_pauses,
};
use crate::{
    cosmos::{Container, Query, Reason, Scope, StoreError, Stored},
    engines::tombstone,
};

const PAGE_TARGETS: u32 = 100;

const MAX_CONCURRENT_WRITES: usize = 8;

const MAX_BAD_TARGETS: usize = 1_000;

/// The definition of a fan-out: its source, its targets and the copied value.
pub trait FanOut: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// An item of the container of the sources, with its type ([`item_types`](crate::values::item_types)).
    type Change: ChangeFeedItem + Serialize + From<Continuation>;
    /// A source.
    type Source: TryFrom<Self::Change> + Send + Sync;
    /// An item of the container of the targets, with its type.
    type Target: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Returns the scope of the targets of a source.
    fn scope(source: &Self::Source) -> Scope<'_> {
        let _ = source;
        Scope::Container
    }

    /// Returns the query of the targets, as whole items, whose copy of the source is older than the source.
    fn outdated(source: &Self::Source) -> Result<Query, StoreError>;

    /// Returns the target with the value of the source; `None` unless it has an older copy of it.
    fn update(target: &Self::Target, source: &Self::Source) -> Option<Update<Self::Target>>;

    /// Does the other work for a source before its targets are updated.
    fn prepare(
        &self,
        _source: &Self::Source,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Does the work for a change of no source, such as a tombstone, and returns its effect; `None` for all others.
    fn apply_other(
        &self,
        _change: &Self::Change,
    ) -> impl Future<Output = Result<Option<Effect>, StoreError>> + Send {
        async { Ok(None) }
    }
}

/// Returns the query of all targets with an older copy, by the properties of its source and version.
pub fn older_copies(
    (of, version): (&str, &str),
    source: impl Serialize,
    newest: u64,
) -> Result<Query, StoreError> {
    let text = format!("SELECT * FROM c WHERE c.{of} = @source AND c.{version} < @version");
    let query = Query::from(text).with_parameter("@source", source)?;
    Ok(query.with_parameter("@version", newest)?)
}

/// The continuation of a fan-out whose slice is over: an item in the partition of its source.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Continuation {
    id: String,
    partition: String,
    source_id: String,
    /// The version of the source whose value is brought to its targets.
    version: u64,
    ttl: u32,
    #[serde(flatten, skip_deserializing)]
    key: BTreeMap<&'static str, String>,
}

impl FrameworkItem for Continuation {
    fn origin(&self) -> Option<Origin> {
        Some(Origin::new(&self.partition, &self.source_id, self.version))
    }
}

impl Continuation {
    fn from_source<F: FanOut>(Origin { partition, id: source_id, version }: Origin) -> Self {
        // No id of a caller has a colon.
        let id = format!("continuation:{}:{source_id}", F::FUNCTION);
        let key = [(F::Change::PARTITION_KEY, partition.clone())].into();
        Self { id, partition, source_id, version, ttl: tombstone::TTL_SECONDS, key }
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
    pub fn new(partition: impl AsRef<str>, id: impl AsRef<str>, item: T) -> Self {
        let [partition, id] = [partition.as_ref(), id.as_ref()].map(str::to_owned);
        Self { partition, id, item }
    }
}

impl<T: ChangeFeedItem> Update<T> {
    /// Creates the update of a target that is a source in its own container: its origin is its place.
    pub fn from_item(item: T) -> Option<Self> {
        let Origin { partition, id, .. } = item.origin()?;
        Some(Self { partition, id, item })
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
    /// Creates the projection from a container of sources, whose change feed it reads, to one of targets.
    pub fn new(
        fan_out: F,
        sources: &Container,
        targets: &Container,
        background: &Background,
    ) -> Self {
        let [sources, targets] = [sources, targets].map(Container::in_background);
        Self { fan_out, background: background.clone(), sources, targets }
    }
}

impl<F: FanOut> Projection for FanOutProjection<F> {
    const FUNCTION: &'static str = F::FUNCTION;
    /// Few sources at a time: each fans out by itself, and they share one budget.
    const CONCURRENCY: usize = 4;
    type Change = F::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    /// A continuation has the name of its source, too, so that a batch applies one of both.
    fn source(change: &F::Change) -> Option<(String, u64)> {
        let origin = change.origin().filter(|origin| origin.version > 1)?;
        Some((origin.name(), origin.version))
    }

    async fn apply(&self, change: &F::Change) -> Result<Effect, StoreError> {
        if let Some(effect) = self.fan_out.apply_other(change).await? {
            return Ok(effect);
        }
        let deadline = self.background.deadline();
        let pacer = &self.background.pacer;
        let Some(origin) = change.origin() else { return Ok(Effect::Unchanged) };
        // The value is read again: it may be newer, and the host may have rewritten it.
        let read = origin.read_again::<F::Change>(&self.sources);
        let Some(item) = pacer.charge(read).await? else { return Ok(Effect::Unchanged) };
        let newest = item.origin().unwrap_or(origin);
        let Ok(source) = F::Source::try_from(item) else { return Ok(Effect::Unchanged) };
        pacer.charge(self.fan_out.prepare(&source)).await?;
        let mut effect = Effect::Unchanged;
        loop {
            match self.pass(&source, deadline).await? {
                Pass::Idle => return Ok(effect),
                Pass::Complete if Instant::now() < deadline => effect = Effect::Applied,
                Pass::Complete | Pass::OutOfTime => {
                    self.continue_later(newest).await?;
                    return Ok(Effect::Applied);
                }
            }
        }
    }
}

enum Pass {
    Idle,
    Complete,
    OutOfTime,
}

impl<F: FanOut> FanOutProjection<F> {
    /// Until a target is updated, the next ones are attempted however late it is, so every slice makes progress.
    async fn pass(&self, source: &F::Source, deadline: Instant) -> Result<Pass, StoreError> {
        let pacer = &self.background.pacer;
        let targets = self.targets.latest_committed();
        let query = F::outdated(source)?;
        let pages =
            targets.row_pages::<Stored<F::Target>>(query, F::scope(source), PAGE_TARGETS).await?;
        let mut pages = pin!(pages);
        let is_updated = AtomicBool::new(false);
        let mut errors = NotedErrors::default();
        loop {
            let Some(page) = pacer.run(deadline, pages.try_next()).await else {
                return Ok(Pass::OutOfTime);
            };
            let Some(page) = page? else { break };
            let rows = page.into_iter().map(|row| row.map_err(|_| StoreError::unreadable()));
            let readable: Vec<_> = rows.filter_map(|row| errors.note(row)).collect();
            let writes = readable.into_iter().map(async |target| {
                if is_updated.load(Relaxed) && Instant::now() >= deadline {
                    return None;
                }
                pacer.run(deadline, update::<F>(&self.targets, target, source)).await
            });
            let mut writes = stream::iter(writes).buffer_unordered(MAX_CONCURRENT_WRITES);
            let mut in_time = true;
            while let Some(written) = writes.next().await {
                let Some(written) = written else {
                    in_time = false;
                    continue;
                };
                let effect = errors.pass_over(written)?;
                is_updated.fetch_or(effect == Some(Effect::Applied), Relaxed);
            }
            if errors.count > MAX_BAD_TARGETS {
                return errors.into_result().map(|()| Pass::Complete);
            }
            if !in_time {
                return Ok(Pass::OutOfTime);
            }
        }
        match (errors.into_result(), is_updated.into_inner()) {
            (Err(error), updated) if !updated || error.is_race() => Err(error),
            (_, true) => Ok(Pass::Complete),
            (_, false) => Ok(Pass::Idle),
        }
    }

    async fn continue_later(&self, source: Origin) -> Result<(), StoreError> {
        let continuation = Continuation::from_source::<F>(source);
        let Continuation { partition, id, source_id, .. } = continuation.clone();
        let item = F::Change::from(continuation);
        self.background.pacer.charge(self.sources.upsert(&partition, &id, &item)).await?;
        tracing::info!(
            function = F::FUNCTION,
            document.id = source_id,
            "A fan-out goes on with the next delivery"
        );
        Ok(())
    }
}

/// A fan-out whose copies a projection of its own repairs.
pub trait Repairs: FanOut<Target: ChangeFeedItem> {
    /// The name of the repairs' function, in `functions/`.
    const REPAIRS: &'static str;

    /// Returns the source of the copy in a target, in the version of the copy; `None` without one, as in a tombstone.
    fn copied(target: &Self::Target) -> Option<Origin>;

    /// Returns the place and the version of a target: by default its origin. A target without a version of its own
    /// may have that of its copy.
    fn place(target: &Self::Target) -> Option<Origin> {
        target.origin()
    }
}

/// The projection that repairs the copies in targets that were created or written during a fan-out.
pub struct RepairProjection<F> {
    sources: Container,
    targets: Container,
    definition: PhantomData<fn() -> F>,
}

impl<F: FanOut> RepairProjection<F> {
    /// Creates the projection of a container of targets, whose change feed it reads, by one of sources.
    pub fn new(sources: &Container, targets: &Container) -> Self {
        Self { sources: sources.clone(), targets: targets.clone(), definition: PhantomData }
    }

    pub(super) async fn repair(
        &self,
        copied: &Origin,
        target: (&str, &str),
    ) -> Result<Effect, StoreError> {
        // A change of the source may be on its way to the replicas, and no later delivery would repair the target.
        let sources = self.sources.latest_committed();
        let newest = sources.read::<F::Change>(&copied.partition, &copied.id).await?;
        let Some(Stored { item: newest, .. }) = newest else { return Ok(Effect::Unchanged) };
        let is_newer = newest.origin().is_some_and(|origin| origin.version > copied.version);
        let source = F::Source::try_from(newest).ok().filter(|_| is_newer);
        let Some(source) = source else { return Ok(Effect::Unchanged) };
        match self.targets.latest_committed().read(target.0, target.1).await? {
            Some(stored) => update::<F>(&self.targets, stored, &source).await,
            None => Ok(Effect::Unchanged),
        }
    }
}

impl<F: Repairs> Projection for RepairProjection<F> {
    const FUNCTION: &'static str = F::REPAIRS;
    type Change = F::Target;

    fn container(&self) -> &Container {
        &self.targets
    }

    fn source(change: &F::Target) -> Option<(String, u64)> {
        F::place(change).map(|origin| (origin.name(), origin.version))
    }

    async fn apply(&self, change: &F::Target) -> Result<Effect, StoreError> {
        let place = F::place(change).zip(F::copied(change));
        let Some((Origin { partition, id, .. }, copied)) = place else {
            return Ok(Effect::Unchanged);
        };
        self.repair(&copied, (&partition, &id)).await
    }
}

/// If other writers change the target all the time, this is a lost race after a few attempts.
async fn update<F: FanOut>(
    targets: &Container,
    mut stored: Stored<F::Target>,
    source: &F::Source,
) -> Result<Effect, StoreError> {
    let mut pauses = short_pauses().build();
    while let Some(Update { partition, id, item }) = F::update(&stored.item, source) {
        let lost_race = match targets.replace(&partition, &id, &item, &stored.etag).await {
            Ok(_) => return Ok(Effect::Applied),
            // The target was deleted meanwhile, and its copy with it.
            Err(error) if error.reason == Reason::NotFound => break,
            // Another writer has changed the target meanwhile.
            Err(error) if error.is_race() => error,
            Err(error) => return Err(error),
        };
        sleep(pauses.next().ok_or(lost_race)?).await;
        match targets.latest_committed().read(&partition, &id).await? {
            Some(newer) => stored = newer,
            None => break,
        }
    }
    Ok(Effect::Unchanged)
}
