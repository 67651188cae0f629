//! The proof of a fan-out and of the projection that repairs its targets.
//!
//! 1. A random history writes states of a few sources, and creates, edits and deletes targets. A target
//!    has any earlier state of a source, as after a command that has read the source before.
//! 2. Between the writes, random states of both containers are delivered: those of the sources to the
//!    fan-out, those of the targets to the repairs. The deliveries are duplicate, late, out of order, at
//!    once, and killed, as in the proof of other projections.
//! 3. A delivery is held back where it is about to write a target. Meanwhile a target is edited, or all
//!    sources get newer values, which a fan-out writes to their targets.
//! 4. One of the two instances has time for one target only, so it leaves continuations.
//!
//! An older value never replaces a newer one. In the end each item whose last state was not acknowledged
//! is delivered, until no such item is left in both containers. Then each target has the newest value of
//! its source, and all of its other properties are as the commands wrote them.

use std::{cell::RefCell, collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use futures::future::join;
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Value;
use tributary_functions::{
    cosmos::Cosmos,
    projection::{AnyProjection, Background, BackgroundOptions},
};
use tributary_local::cosmos::RequestKind;

use super::{
    Deliveries, OWNERS, SOURCES, Sources, is_tombstone, kill, no_dead_letters, pick, properties,
    run,
};
use crate::World;

const TARGETS: u8 = 6;

/// The most deliveries of the containers until they change no more.
const MAX_ROUNDS: usize = 100;

/// The items that keep a copy of a source, as commands would write them.
///
/// A history creates, edits and deletes a few targets, by number.
pub trait Targets {
    /// The sources that the copies are of.
    type Sources: Sources;
    /// The container of the targets.
    const CONTAINER: &'static str;
    /// The property that is its partition key.
    const PARTITION_KEY: &'static str;
    /// The properties that are the copy, such as the name of the source and the version that the name is
    /// of.
    const COPIED: &'static [&'static str];
    /// Other properties that a fan-out changes, such as the version of the target.
    const REWRITTEN: &'static [&'static str] = &["version"];

    /// Returns the target that a command creates after it has read this state of a source. The id has the
    /// number. `tombstone` is that of an earlier target with this partition key and id.
    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value;

    /// Returns the version of the source that the copy in a target is of.
    fn version(target: &Value) -> u64;

    /// Returns the target after a command that changes something else than the copy; `None` where
    /// there is no such command.
    fn edit(_target: &Value) -> Option<Value> {
        None
    }

    /// Returns the tombstone of a target; `None` where a command deletes the item itself.
    fn tombstone(_target: &Value) -> Option<Value> {
        None
    }
}

/// Puts a fan-out under the proof, together with the projection that reads the change feed of the
/// targets and repairs them. The error is a history after which a target has an older value, or has lost
/// another change.
pub fn fan_out<T: Targets>(
    fan_out: impl Fn(&Arc<Cosmos>, &Background) -> Arc<dyn AnyProjection>,
    repairs: impl Fn(&Arc<Cosmos>, &Background) -> Arc<dyn AnyProjection>,
) -> Result<(), String> {
    run(&steps(), async |steps| {
        let world = World::new().await;
        let mut projections = Vec::new();
        for slice in [Duration::ZERO, BackgroundOptions::default().slice] {
            let cosmos = World::<App<T>>::cosmos(&world.endpoint).await;
            let options = BackgroundOptions { request_units_per_second: None, slice };
            let background = Background::new(options);
            projections.extend([fan_out(&cosmos, &background), repairs(&cosmos, &background)]);
        }
        let cosmos = World::<App<T>>::cosmos(&world.endpoint).await;
        let mut proof = FanOutProof::<T> {
            deliveries: Deliveries::new(projections, &cosmos),
            world,
            sources: RefCell::default(),
            written: RefCell::default(),
            targets: BTreeMap::new(),
            history: [Vec::new(), Vec::new()],
            observed: 0,
        };
        for step in steps {
            Box::pin(proof.apply(step)).await?;
            proof.observe().await?;
        }
        proof.settle().await?;
        proof.compare().await?;
        for feed in FEEDS {
            for state in proof.history[feed].iter().rev() {
                proof.deliver_states(1, feed, std::slice::from_ref(state)).await;
            }
        }
        proof.settle().await?;
        proof.compare().await
    })
}

type App<T> = <<T as Targets>::Sources as Sources>::App;

/// The change feeds, as indexes of [`FanOutProof::history`].
const FEEDS: [usize; 2] = [0, 1];

#[derive(Debug, Clone)]
enum FanOutStep {
    WriteSource { source: u8, owner: u8 },
    DeleteSource { source: u8 },
    Create { target: u8, source: Index },
    CreateLate { target: u8, source: Index },
    Edit { target: u8 },
    Delete { target: u8 },
    Deliver(Delivery),
    AtOnce { one: Delivery, other: Delivery },
    EditMeanwhile { delivery: Delivery, target: u8 },
    WriteSourcesMeanwhile { delivery: Delivery },
    Killed { delivery: Delivery, after_requests: usize },
}

/// States of one container, which an instance gets in one batch.
#[derive(Debug, Clone)]
struct Delivery {
    instance: usize,
    feed: usize,
    states: Vec<Index>,
}

fn steps() -> impl Strategy<Value = Vec<FanOutStep>> {
    use FanOutStep as Step;
    let delivery = || {
        let parts = (0..2_usize, 0..FEEDS.len(), vec(any::<Index>(), 1..4));
        parts.prop_map(|(instance, feed, states)| Delivery { instance, feed, states })
    };
    let target = || (0..TARGETS, any::<Index>());
    let step = prop_oneof![
        4 => (0..SOURCES, 0..OWNERS)
            .prop_map(|(source, owner)| Step::WriteSource { source, owner }),
        1 => (0..SOURCES).prop_map(|source| Step::DeleteSource { source }),
        5 => target().prop_map(|(target, source)| Step::Create { target, source }),
        2 => target().prop_map(|(target, source)| Step::CreateLate { target, source }),
        2 => (0..TARGETS).prop_map(|target| Step::Edit { target }),
        1 => (0..TARGETS).prop_map(|target| Step::Delete { target }),
        3 => delivery().prop_map(Step::Deliver),
        1 => (delivery(), delivery()).prop_map(|(one, other)| Step::AtOnce { one, other }),
        2 => (delivery(), 0..TARGETS)
            .prop_map(|(delivery, target)| Step::EditMeanwhile { delivery, target }),
        2 => delivery().prop_map(|delivery| Step::WriteSourcesMeanwhile { delivery }),
        1 => (delivery(), 1..8_usize)
            .prop_map(|(delivery, after_requests)| Step::Killed { delivery, after_requests }),
    ];
    // Behind the last fan-out, only the repairs bring a value to what was created late.
    let created_last = target().prop_map(|(target, source)| {
        [Step::Delete { target }, Step::CreateLate { target, source }]
    });
    (vec(step, 1..60), vec(created_last, 0..3))
        .prop_map(|(steps, last)| [steps, last.concat()].concat())
}

/// A target as the commands wrote it.
struct Target {
    key: ItemKey,
    source: ItemKey,
    /// The newest version of the source that the target has had.
    version: u64,
    /// Its properties, but for those that a fan-out writes.
    others: Value,
}

type ItemKey = (String, String);

struct FanOutProof<T: Targets> {
    world: World<App<T>>,
    /// For each instance, the fan-out and the repairs.
    deliveries: Deliveries,
    sources: RefCell<T::Sources>,
    /// All states of sources that commands have written.
    written: RefCell<Vec<Value>>,
    /// The targets that exist, by number.
    targets: BTreeMap<u8, Target>,
    /// For each change feed, the states that it has shown.
    history: [Vec<Value>; 2],
    /// The number of requests before the last look at both containers.
    observed: usize,
}

impl<T: Targets> FanOutProof<T> {
    const CONTAINERS: [&str; 2] = [<T::Sources as Sources>::CONTAINER, T::CONTAINER];

    async fn apply(&mut self, step: FanOutStep) -> Result<(), String> {
        match step {
            FanOutStep::WriteSource { source, owner } => {
                let state = self.sources.get_mut().write(source, owner);
                self.record_source(state).await;
            }
            FanOutStep::DeleteSource { source } => {
                if let Some(tombstone) = self.sources.get_mut().delete(source) {
                    self.record_source(tombstone).await;
                }
            }
            FanOutStep::Create { target, source } => {
                if let Some(read) = self.live_source(source) {
                    self.create(target, &read).await;
                }
            }
            FanOutStep::CreateLate { target, source } => {
                // The command reads, all fan-outs begin and end, and then the command writes.
                let read = self.live_source(source);
                self.write_sources(1).await;
                if let Some(read) = read {
                    self.create(target, &read).await;
                }
            }
            FanOutStep::Edit { target } => {
                let edited = self.edit(target).await;
                self.note_edit(target, edited);
            }
            FanOutStep::Delete { target } => self.delete(target).await,
            FanOutStep::Deliver(delivery) => self.deliver(&delivery).await,
            FanOutStep::AtOnce { one, other } => {
                join(self.deliver(&one), self.deliver(&other)).await;
            }
            FanOutStep::EditMeanwhile { delivery, target } => {
                let edited = Box::pin(self.deliver_amid(&delivery, self.edit(target))).await;
                self.note_edit(target, edited.flatten());
            }
            FanOutStep::WriteSourcesMeanwhile { delivery } => {
                let write = self.write_sources(1 - delivery.instance);
                if let Some(targets) = Box::pin(self.deliver_amid(&delivery, write)).await {
                    self.note_versions(&targets)?;
                }
            }
            FanOutStep::Killed { delivery, after_requests } => {
                kill(&self.world, after_requests, self.deliver(&delivery)).await;
            }
        }
        Ok(())
    }

    async fn record_source(&self, state: Value) {
        self.world.write_item(<T::Sources as Sources>::CONTAINER, &state).await;
        self.written.borrow_mut().push(state);
    }

    /// Writes all sources, and delivers them to the fan-out of an instance. Returns the targets after that.
    async fn write_sources(&self, instance: usize) -> Vec<Value> {
        for source in 0..SOURCES {
            let state = self.sources.borrow_mut().write(source, 0);
            self.record_source(state).await;
        }
        let states = self.world.items(<T::Sources as Sources>::CONTAINER).await;
        self.deliver_states(instance, 0, &states).await;
        self.world.items(T::CONTAINER).await
    }

    /// Delivers a batch, and runs `meanwhile` when the batch is about to write a target.
    async fn deliver_amid<R>(
        &self,
        delivery: &Delivery,
        meanwhile: impl Future<Output = R>,
    ) -> Option<R> {
        let hold = |kind| self.world.endpoint.hold(kind, T::CONTAINER);
        let mut replace = hold(RequestKind::Replace);
        let mut upsert = hold(RequestKind::Upsert);
        let mut work = pin!(self.deliver(delivery));
        // The other hold would stop the requests of `meanwhile`.
        let held = tokio::select! {
            biased;
            () = replace.arrived() => {
                drop(upsert);
                replace
            }
            () = upsert.arrived() => {
                drop(replace);
                upsert
            }
            () = &mut work => return None,
        };
        let result = meanwhile.await;
        held.release();
        work.await;
        Some(result)
    }

    /// Picks a state of a source, of all states that were ever written but tombstones.
    fn live_source(&self, source: Index) -> Option<Value> {
        let mut live = self.written.borrow().clone();
        live.retain(|state| !is_tombstone(state));
        (!live.is_empty()).then(|| source.get(&live).clone())
    }

    async fn create(&mut self, target: u8, state: &Value) {
        if self.targets.contains_key(&target) {
            return;
        }
        let key = key_of::<T>(&T::create(target, state, None));
        let tombstone = self.stored(&key).await;
        let created = T::create(target, state, tombstone.as_ref());
        self.world.write_item(T::CONTAINER, &created).await;
        let source = Self::source_key(state);
        let version = T::version(&created);
        self.targets.insert(target, Target { key, source, version, others: others::<T>(&created) });
    }

    async fn edit(&self, target: u8) -> Option<Value> {
        let Target { key, .. } = self.targets.get(&target)?;
        let edited = T::edit(&self.stored(key).await?)?;
        self.world.write_item(T::CONTAINER, &edited).await;
        Some(edited)
    }

    fn note_edit(&mut self, target: u8, edited: Option<Value>) {
        if let Some((target, edited)) = self.targets.get_mut(&target).zip(edited) {
            target.others = others::<T>(&edited);
        }
    }

    async fn delete(&mut self, target: u8) {
        let Some(Target { key, .. }) = self.targets.remove(&target) else { return };
        let Some(stored) = self.stored(&key).await else { return };
        if let Some(tombstone) = T::tombstone(&stored) {
            self.world.write_item(T::CONTAINER, &tombstone).await;
        } else {
            let container = self.world.container(T::CONTAINER).await;
            container.delete_item(key.0, &key.1, None).await.unwrap();
        }
    }

    async fn stored(&self, key: &ItemKey) -> Option<Value> {
        let items = self.world.items(T::CONTAINER).await;
        items.into_iter().find(|item| key_of::<T>(item) == *key)
    }

    fn source_key(source: &Value) -> ItemKey {
        let partition_key = <T::Sources as Sources>::PARTITION_KEY;
        (text(&source[partition_key]), text(&source["id"]))
    }

    /// Records the states that the change feeds show.
    async fn observe(&mut self) -> Result<(), String> {
        let n_before = self.observed;
        self.observed = self.world.endpoint.request_count();
        for feed in FEEDS {
            let container = Self::CONTAINERS[feed];
            if !self.world.may_be_written(container, n_before) {
                continue;
            }
            let stored = self.world.items(container).await;
            if container == T::CONTAINER {
                self.note_versions(&stored)?;
            }
            let known = &mut self.history[feed];
            let new: Vec<_> = stored.into_iter().filter(|item| !known.contains(item)).collect();
            known.extend(new);
        }
        Ok(())
    }

    /// Records the versions of the targets, and compares them with the earlier ones.
    fn note_versions(&mut self, stored: &[Value]) -> Result<(), String> {
        for target in self.targets.values_mut() {
            let mut states = stored.iter();
            if let Some(state) = states.find(|state| key_of::<T>(state) == target.key) {
                let version = T::version(state);
                if version < target.version {
                    return Err(format!("an older value has replaced a newer one: {state}"));
                }
                target.version = version;
            }
        }
        Ok(())
    }

    async fn deliver(&self, Delivery { instance, feed, states }: &Delivery) {
        self.deliver_states(*instance, *feed, &pick(&self.history[*feed], states)).await;
    }

    async fn deliver_states(&self, instance: usize, feed: usize, states: &[Value]) {
        self.deliveries.deliver(FEEDS.len() * instance + feed, false, states).await;
    }

    /// Delivers the last states that were never acknowledged, until there are none.
    async fn settle(&self) -> Result<(), String> {
        for _ in 0..MAX_ROUNDS {
            let mut all_acknowledged = true;
            for feed in FEEDS {
                let states = self.world.items(Self::CONTAINERS[feed]).await;
                let due = self.deliveries.waiting(states);
                all_acknowledged &= due.is_empty();
                self.deliver_states(feed, feed, &due).await;
            }
            if all_acknowledged {
                return Ok(());
            }
        }
        Err("the projections change items without end".into())
    }

    /// Compares each target with the newest state of its source, and with the changes of its commands.
    async fn compare(&self) -> Result<(), String> {
        let written = self.written.borrow().clone();
        for (number, Target { key, source, others, .. }) in &self.targets {
            let Some(stored) = self.stored(key).await else {
                return Err(format!("the target {key:?} is gone"));
            };
            if self::others::<T>(&stored) != *others {
                return Err(format!("{stored} has lost a change of {others}"));
            }
            let mut states = written.iter().rev();
            let source = states.find(|state| Self::source_key(state) == *source).unwrap();
            if !is_tombstone(source)
                && copied::<T>(&stored) != copied::<T>(&T::create(*number, source, None))
            {
                return Err(format!("{stored} has not the value of {source}"));
            }
        }
        let stored = self.world.items(T::CONTAINER).await;
        let live = stored.iter().filter(|item| !is_tombstone(item)).count();
        if live != self.targets.len() {
            return Err(format!("{live} targets, not {}: {stored:?}", self.targets.len()));
        }
        no_dead_letters(&self.world).await
    }
}

fn key_of<T: Targets>(target: &Value) -> ItemKey {
    (text(&target[T::PARTITION_KEY]), text(&target["id"]))
}

/// Returns the properties that a target has from its source.
fn copied<T: Targets>(target: &Value) -> Value {
    properties(target, |name| T::COPIED.contains(&name))
}

/// Returns the properties of a target that no fan-out may change.
fn others<T: Targets>(target: &Value) -> Value {
    properties(target, |name| !T::COPIED.contains(&name) && !T::REWRITTEN.contains(&name))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
