//! The proof of a fan-out and of the projection that repairs its targets.
//!
//! A random history writes states of a few sources, creates targets with any earlier state of a source,
//! as a command does that has read the source before, and edits and deletes targets. Between the
//! writes, random states of both containers are delivered: those of the sources to the fan-out, those of
//! the targets to the repairs, with everything that the proof of other projections does. Besides, a
//! delivery is held back where it is about to write a target; meanwhile a target is edited, or all
//! sources get newer values, which are brought to their targets. One of the two instances has no time
//! for more than one target, so it leaves continuations.
//!
//! At no time does an older value replace a newer one. In the end each item of both containers whose
//! last state was not acknowledged is delivered, until that is so of none. Then each target has the
//! newest value of its source, and is otherwise as the commands left it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::future::join;
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Value;
use tributary_functions::{
    cosmos::Cosmos,
    projection::{AnyProjection, Background, BackgroundOptions, DeadLetters},
};
use tributary_local::cosmos::RequestKind;

use super::{OWNERS, SOURCES, Sources, deliver, is_tombstone, kill, properties, run};
use crate::World;

const TARGETS: u8 = 6;

/// How often the containers may be delivered until nothing changes any more.
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

    /// Returns the target as a command creates it that has read this state of a source. Its id has the
    /// number. `tombstone` is that of an earlier target with this partition key and id.
    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value;

    /// Returns the version of the source that the copy in a target is of.
    fn version(target: &Value) -> u64;

    /// Returns the target after a command that changes something else than the copy; `None` where
    /// there is no such command.
    fn edit(target: &Value) -> Option<Value> {
        let _ = target;
        None
    }

    /// Returns the tombstone of a target; `None` where a command deletes the item itself.
    fn tombstone(target: &Value) -> Option<Value> {
        let _ = target;
        None
    }
}

/// Puts a fan-out under the proof, together with the projection that reads the change feed of the
/// targets and calls [`repair`](tributary_functions::projection::fan_out::repair). The error is a
/// history after which a target has an older value, or has lost another change.
pub fn fan_out<T: Targets>(
    fan_out: impl Fn(&Arc<Cosmos>, &Background) -> Arc<dyn AnyProjection>,
    repairs: impl Fn(&Arc<Cosmos>, &Background) -> Arc<dyn AnyProjection>,
) -> Result<(), String> {
    run(&steps(), async |steps| {
        let world = World::new().await;
        let mut instances = Vec::new();
        for slice in [Duration::ZERO, BackgroundOptions::default().slice] {
            let cosmos = World::<App<T>>::cosmos(&world.endpoint).await;
            let options = BackgroundOptions { request_units_per_second: None, slice };
            let background = Background::new(options);
            instances.push([fan_out(&cosmos, &background), repairs(&cosmos, &background)]);
        }
        let letters = DeadLetters::new(&World::<App<T>>::cosmos(&world.endpoint).await);
        let mut proof = FanOutProof::<T> {
            instances,
            letters,
            world,
            sources: RefCell::default(),
            written: RefCell::default(),
            targets: BTreeMap::new(),
            history: [Vec::new(), Vec::new()],
            seen: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
        };
        for step in steps {
            Box::pin(proof.take(step)).await?;
            proof.observe().await?;
        }
        proof.settle().await?;
        proof.is_true().await?;
        for feed in FEEDS {
            for state in proof.history[feed].iter().rev() {
                let state = std::slice::from_ref(state);
                deliver(&*proof.instances[1][feed], &proof.letters, state).await;
            }
        }
        proof.settle().await?;
        proof.is_true().await
    })
}

type App<T> = <<T as Targets>::Sources as Sources>::App;

/// The change feeds, as indexes of [`FanOutProof::history`].
const FEEDS: [usize; 2] = [0, 1];

#[derive(Debug, Clone)]
enum Step {
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

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let delivery = || {
        let parts = (0..2_usize, 0..FEEDS.len(), vec(any::<Index>(), 1..4));
        parts.prop_map(|(instance, feed, states)| Delivery { instance, feed, states })
    };
    let step = prop_oneof![
        4 => (0..SOURCES, 0..OWNERS)
            .prop_map(|(source, owner)| Step::WriteSource { source, owner }),
        1 => (0..SOURCES).prop_map(|source| Step::DeleteSource { source }),
        5 => (0..TARGETS, any::<Index>())
            .prop_map(|(target, source)| Step::Create { target, source }),
        2 => (0..TARGETS, any::<Index>())
            .prop_map(|(target, source)| Step::CreateLate { target, source }),
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
    vec(step, 1..60)
}

/// Newer values of all sources, which have been brought to the targets.
struct Brought {
    /// The texts of the states that were acknowledged.
    acknowledged: Vec<String>,
    /// The targets then.
    targets: Vec<Value>,
}

/// A target as the commands left it.
struct Target {
    place: Place,
    source: Place,
    /// The newest version of the source that it has had.
    version: u64,
    /// Its properties, but for those that a fan-out writes.
    others: Value,
}

/// A partition key and an id.
type Place = (String, String);

struct FanOutProof<T: Targets> {
    world: World<App<T>>,
    /// For each instance, the fan-out and the repairs.
    instances: Vec<[Arc<dyn AnyProjection>; 2]>,
    letters: DeadLetters,
    sources: RefCell<T::Sources>,
    /// All states of sources that commands have written.
    written: RefCell<Vec<Value>>,
    /// The targets that exist, by number.
    targets: BTreeMap<u8, Target>,
    /// For each change feed, the states that it has shown.
    history: [Vec<Value>; 2],
    seen: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
}

impl<T: Targets> FanOutProof<T> {
    const CONTAINERS: [&str; 2] = [<T::Sources as Sources>::CONTAINER, T::CONTAINER];

    async fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::WriteSource { source, owner } => {
                let state = self.sources.get_mut().write(source, owner);
                self.record_source(state).await;
            }
            Step::DeleteSource { source } => {
                if let Some(tombstone) = self.sources.get_mut().delete(source) {
                    self.record_source(tombstone).await;
                }
            }
            Step::Create { target, source } => {
                if let Some(read) = self.live_source(source) {
                    self.create(target, &read).await;
                }
            }
            Step::CreateLate { target, source } => {
                // The command reads, all fan-outs come and go, and the command writes.
                let read = self.live_source(source);
                let brought = self.write_sources(1).await;
                self.acknowledged.extend(brought.acknowledged);
                if let Some(read) = read {
                    self.create(target, &read).await;
                }
            }
            Step::Edit { target } => {
                let edited = self.edit(target).await;
                self.note_edit(target, edited);
            }
            Step::Delete { target } => self.delete(target).await,
            Step::Deliver(delivery) => {
                let states = self.deliver(&delivery).await;
                self.acknowledged.extend(states);
            }
            Step::AtOnce { one, other } => {
                let (one, other) = join(self.deliver(&one), self.deliver(&other)).await;
                self.acknowledged.extend(one.into_iter().chain(other));
            }
            Step::EditMeanwhile { delivery, target } => {
                let edit = self.edit(target);
                let (states, edited) = self.deliver_amid(&delivery, edit).await;
                self.note_edit(target, edited.flatten());
                self.acknowledged.extend(states);
            }
            Step::WriteSourcesMeanwhile { delivery } => {
                let write = self.write_sources(1 - delivery.instance);
                let (states, brought) = self.deliver_amid(&delivery, write).await;
                self.acknowledged.extend(states);
                if let Some(Brought { acknowledged, targets }) = brought {
                    self.acknowledged.extend(acknowledged);
                    self.note_versions(&targets)?;
                }
            }
            Step::Killed { delivery, after_requests } => {
                kill(&self.world, after_requests, self.deliver(&delivery)).await;
            }
        }
        Ok(())
    }

    async fn record_source(&self, state: Value) {
        self.write(<T::Sources as Sources>::CONTAINER, &Self::source_place(&state), &state).await;
        self.written.borrow_mut().push(state);
    }

    /// Writes all sources, and brings their values to the targets through an instance.
    async fn write_sources(&self, instance: usize) -> Brought {
        for source in 0..SOURCES {
            let state = self.sources.borrow_mut().write(source, 0);
            self.record_source(state).await;
        }
        let states = self.world.items(<T::Sources as Sources>::CONTAINER).await;
        deliver(&*self.instances[instance][0], &self.letters, &states).await;
        let acknowledged = states.iter().map(Value::to_string).collect();
        Brought { acknowledged, targets: self.world.items(T::CONTAINER).await }
    }

    /// Delivers a batch, and lets something happen when it is about to write a target.
    async fn deliver_amid<R>(
        &self,
        delivery: &Delivery,
        meanwhile: impl Future<Output = R>,
    ) -> (Vec<String>, Option<R>) {
        let hold = |kind| self.world.endpoint.hold(kind, T::CONTAINER);
        let (mut replace, mut upsert) = (hold(RequestKind::Replace), hold(RequestKind::Upsert));
        let mut work = pin!(self.deliver(delivery));
        // The other hold would hold back what happens meanwhile.
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
            states = &mut work => return (states, None),
        };
        let result = meanwhile.await;
        held.release();
        (work.await, Some(result))
    }

    /// Picks a state of a source that is no tombstone, of all that were ever written.
    fn live_source(&self, source: Index) -> Option<Value> {
        let mut live = self.written.borrow().clone();
        live.retain(|state| !is_tombstone(state));
        (!live.is_empty()).then(|| source.get(&live).clone())
    }

    async fn create(&mut self, target: u8, state: &Value) {
        if self.targets.contains_key(&target) {
            return;
        }
        let place = place::<T>(&T::create(target, state, None));
        let tombstone = self.stored(&place).await;
        let created = T::create(target, state, tombstone.as_ref());
        self.write(T::CONTAINER, &place, &created).await;
        let (source, version) = (Self::source_place(state), T::version(&created));
        self.targets
            .insert(target, Target { place, source, version, others: others::<T>(&created) });
    }

    /// Edits a target as it is stored.
    async fn edit(&self, target: u8) -> Option<Value> {
        let Target { place, .. } = self.targets.get(&target)?;
        let edited = T::edit(&self.stored(place).await?)?;
        self.write(T::CONTAINER, place, &edited).await;
        Some(edited)
    }

    fn note_edit(&mut self, target: u8, edited: Option<Value>) {
        if let Some((target, edited)) = self.targets.get_mut(&target).zip(edited) {
            target.others = others::<T>(&edited);
        }
    }

    async fn delete(&mut self, target: u8) {
        let Some(Target { place, .. }) = self.targets.remove(&target) else { return };
        let Some(stored) = self.stored(&place).await else { return };
        if let Some(tombstone) = T::tombstone(&stored) {
            self.write(T::CONTAINER, &place, &tombstone).await;
        } else {
            let container = self.world.container(T::CONTAINER).await;
            container.delete_item(place.0, &place.1, None).await.unwrap();
        }
    }

    async fn write(&self, container: &str, (partition, id): &Place, item: &Value) {
        let container = self.world.container(container).await;
        container.upsert_item(partition.clone(), id, item, None).await.unwrap();
    }

    async fn stored(&self, place: &Place) -> Option<Value> {
        let items = self.world.items(T::CONTAINER).await;
        items.into_iter().find(|item| self::place::<T>(item) == *place)
    }

    fn source_place(source: &Value) -> Place {
        let key = <T::Sources as Sources>::PARTITION_KEY;
        (text(&source[key]), text(&source["id"]))
    }

    /// Notes the states that the change feeds show.
    async fn observe(&mut self) -> Result<(), String> {
        for feed in FEEDS {
            for item in self.world.items(Self::CONTAINERS[feed]).await {
                if self.seen.insert(item.to_string()) {
                    self.history[feed].push(item);
                }
            }
        }
        let targets = self.world.items(T::CONTAINER).await;
        self.note_versions(&targets)
    }

    /// Compares the targets with their earlier states.
    fn note_versions(&mut self, stored: &[Value]) -> Result<(), String> {
        for target in self.targets.values_mut() {
            let mut states = stored.iter();
            if let Some(state) = states.find(|state| place::<T>(state) == target.place) {
                let version = T::version(state);
                if version < target.version {
                    return Err(format!("an older value has replaced a newer one: {state}"));
                }
                target.version = version;
            }
        }
        Ok(())
    }

    /// Delivers a batch until it is acknowledged, and returns the texts of its states.
    async fn deliver(&self, delivery: &Delivery) -> Vec<String> {
        let Delivery { instance, feed, states } = delivery;
        let history = &self.history[*feed];
        let states = states.iter().filter(|_| !history.is_empty());
        let states: Vec<_> = states.map(|state| state.get(history).clone()).collect();
        deliver(&*self.instances[*instance][*feed], &self.letters, &states).await;
        states.iter().map(Value::to_string).collect()
    }

    /// Delivers the last states that were never acknowledged, until there are none.
    async fn settle(&mut self) -> Result<(), String> {
        for _ in 0..MAX_ROUNDS {
            let mut all_acknowledged = true;
            for feed in FEEDS {
                let mut due = self.world.items(Self::CONTAINERS[feed]).await;
                due.retain(|state| !self.acknowledged.contains(&state.to_string()));
                all_acknowledged &= due.is_empty();
                deliver(&*self.instances[feed][feed], &self.letters, &due).await;
                self.acknowledged.extend(due.iter().map(Value::to_string));
            }
            if all_acknowledged {
                return Ok(());
            }
        }
        Err("the projections change items without end".into())
    }

    async fn is_true(&self) -> Result<(), String> {
        let written = self.written.borrow().clone();
        for (number, Target { place, source, others, .. }) in &self.targets {
            let Some(stored) = self.stored(place).await else {
                return Err(format!("the target {place:?} is gone"));
            };
            if self::others::<T>(&stored) != *others {
                return Err(format!("{stored} has lost a change of {others}"));
            }
            let mut states = written.iter().rev();
            let source = states.find(|state| Self::source_place(state) == *source).unwrap();
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
        let letters = self.world.items("dead-letters").await;
        if letters.is_empty() { Ok(()) } else { Err(format!("dead letters: {letters:?}")) }
    }
}

fn place<T: Targets>(target: &Value) -> Place {
    (text(&target[T::PARTITION_KEY]), text(&target["id"]))
}

/// Returns what a target has of its source.
fn copied<T: Targets>(target: &Value) -> Value {
    properties(target, |name| T::COPIED.contains(&name))
}

/// Returns what no fan-out may change in a target.
fn others<T: Targets>(target: &Value) -> Value {
    properties(target, |name| !T::COPIED.contains(&name) && !T::REWRITTEN.contains(&name))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
