//! The proof of a projection: after any order of deliveries to any instance, the copies end as the
//! definition derives them from the last state of the sources.
//!
//! 1. A random history writes states of a few sources, with random owners, deletions and ids that come
//!    again.
//! 2. Between the writes, random states of the whole history are delivered: older ones, duplicates, out of
//!    order, to two instances, to both at once, and to one that is killed in the middle. Most states are
//!    never delivered. Rebuilds read all sources and apply them again, and are killed, too. Instances apply
//!    states eagerly, as those of their own commands; these are killed or late, too.
//! 3. In the end the last state of each source is delivered unless it was acknowledged before, which is
//!    all that the change feed promises.
//! 4. Then every state is delivered once more, from the last to the first, and a rebuild changes nothing.
//!
//! [`holds`] takes any projection; [`copies`], [`aggregate`] and [`window`] compare by the definition of
//! the shape, and [`fan_out()`] by that of its targets, which are written meanwhile. To put a projection
//! of your own under the proof: [`Sources`] for its container, if there is none yet, [`Targets`] for a
//! fan-out, and one line.

mod fan_out;

use std::{
    cell::RefCell,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Debug,
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use custom_handler::{Document, Documents, InvocationId};
use futures::future::join;
use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use serde_json::Value;
use tributary_functions::{
    cosmos::Cosmos,
    projection::{
        AnyProjection, BatchSource, ChangeFeedItem, DeadLetters,
        aggregate::{Aggregate, AggregateProjection},
        apply_eagerly,
        copies::{Copies, CopyProjection},
        window::{Window, WindowHead, WindowItem, WindowProjection},
    },
};

pub use self::fan_out::{Targets, fan_out};
use crate::{AppUnderTest, World};

const SOURCES: u8 = 4;
const OWNERS: u8 = 3;

/// The histories of a proof; the environment variable `PROPTEST_CASES` asks for more.
const HISTORIES: u32 = 16;

/// The time in which the proof looks for a shorter history that fails, in milliseconds.
const MAX_SHRINK_MS: u32 = 3_000;

/// The time for which a batch is retried.
const BATCH_BUDGET: Duration = Duration::from_millis(500);

/// The sources of a container, as commands would write them.
pub trait Sources: Default {
    /// The app that has the container.
    type App: AppUnderTest;
    /// The container.
    const CONTAINER: &'static str;
    /// The property that is its partition key.
    const PARTITION_KEY: &'static str;

    /// Creates or edits a source, and returns its next state. The owner matters when it is created,
    /// first or anew.
    fn write(&mut self, source: u8, owner: u8) -> Value;

    /// Deletes a source, and returns its tombstone; `None` when the source does not exist, or where no
    /// command deletes sources.
    fn delete(&mut self, _source: u8) -> Option<Value> {
        None
    }
}

#[derive(Debug, Clone)]
enum HistoryStep {
    Write { source: u8, owner: u8 },
    Delete { source: u8 },
    Recreate { source: u8, owner: u8 },
    Deliver { states: Vec<Index>, instance: usize },
    AtOnce { one: Vec<Index>, other: Vec<Index> },
    Killed { states: Vec<Index>, after_requests: usize },
    Rebuild { instance: usize, after_requests: usize },
    Eager { states: Vec<Index>, instance: usize, after_requests: usize },
    Command { source: u8, owner: u8, instance: usize },
}

fn steps() -> impl Strategy<Value = Vec<HistoryStep>> {
    use HistoryStep as Step;
    let states = || vec(any::<Index>(), 1..4);
    let source = || (0..SOURCES, 0..OWNERS);
    let instance = 0..2_usize;
    let step = prop_oneof![
        4 => source().prop_map(|(source, owner)| Step::Write { source, owner }),
        1 => (0..SOURCES).prop_map(|source| Step::Delete { source }),
        // Deleted and created again before the change feed shows either.
        2 => source().prop_map(|(source, owner)| Step::Recreate { source, owner }),
        2 => (states(), instance.clone())
            .prop_map(|(states, instance)| Step::Deliver { states, instance }),
        1 => (states(), states()).prop_map(|(one, other)| Step::AtOnce { one, other }),
        1 => (states(), 1..8_usize)
            .prop_map(|(states, after_requests)| Step::Killed { states, after_requests }),
        1 => (instance.clone(), 1..20_usize)
            .prop_map(|(instance, after_requests)| Step::Rebuild { instance, after_requests }),
        2 => (source(), instance.clone())
            .prop_map(|((source, owner), instance)| Step::Command { source, owner, instance }),
        1 => (states(), instance, 1..8_usize).prop_map(|(states, instance, after_requests)| {
            Step::Eager { states, instance, after_requests }
        }),
    ];
    vec(step, 1..50)
}

struct Proof<S: Sources> {
    world: World<S::App>,
    deliveries: Deliveries,
    sources: S,
    history: Vec<Value>,
}

impl<S: Sources> Proof<S> {
    async fn apply(&mut self, step: HistoryStep) {
        match step {
            HistoryStep::Write { source, owner } => drop(self.write(source, owner).await),
            HistoryStep::Delete { source } => self.delete(source).await,
            HistoryStep::Recreate { source, owner } => {
                self.delete(source).await;
                self.write(source, owner).await;
            }
            HistoryStep::Deliver { states, instance } => {
                self.deliver(instance, &pick(&self.history, &states)).await;
            }
            HistoryStep::AtOnce { one, other } => {
                let [one, other] = [one, other].map(|states| pick(&self.history, &states));
                join(self.deliver(0, &one), self.deliver(1, &other)).await;
            }
            HistoryStep::Killed { states, after_requests } => {
                let states = pick(&self.history, &states);
                kill(&self.world, after_requests, self.deliver(0, &states)).await;
            }
            HistoryStep::Rebuild { instance, after_requests } => {
                kill(&self.world, after_requests, self.rebuild(instance)).await;
            }
            HistoryStep::Command { source, owner, instance } => {
                let state = self.write(source, owner).await;
                self.apply_eagerly(instance, &[state]).await;
            }
            HistoryStep::Eager { states, instance, after_requests } => {
                let states = pick(&self.history, &states);
                kill(&self.world, after_requests, self.apply_eagerly(instance, &states)).await;
            }
        }
    }

    /// Applies all sources again, as they are stored now.
    async fn rebuild(&self, instance: usize) {
        let states = self.world.items(S::CONTAINER).await;
        self.deliveries.apply(instance, BatchSource::Rebuild, &states).await;
    }

    /// Applies states once, as the instance of a command does. It acknowledges nothing, and may fail.
    async fn apply_eagerly(&self, instance: usize, states: &[Value]) {
        let Documents(documents) = documents(states);
        apply_eagerly(&*self.deliveries.projections[instance], documents).await;
    }

    async fn write(&mut self, source: u8, owner: u8) -> Value {
        let state = self.sources.write(source, owner);
        self.record(state.clone()).await;
        state
    }

    async fn delete(&mut self, source: u8) {
        if let Some(tombstone) = self.sources.delete(source) {
            self.record(tombstone).await;
        }
    }

    async fn record(&mut self, state: Value) {
        self.world.write_item(S::CONTAINER, &state).await;
        self.history.push(state);
    }

    async fn deliver(&self, instance: usize, states: &[Value]) {
        self.deliveries.deliver(instance, instance == 0, states).await;
    }

    fn last(&self) -> Vec<Value> {
        let key = |state: &Value| [&state[S::PARTITION_KEY], &state["id"]].map(Value::to_string);
        let last: BTreeMap<_, _> = self.history.iter().map(|state| (key(state), state)).collect();
        last.into_values().cloned().collect()
    }
}

/// The deliveries to some projections, or to instances of one.
struct Deliveries {
    projections: Vec<Arc<dyn AnyProjection>>,
    dead_letters: DeadLetters,
    /// The states that were acknowledged, as texts.
    acknowledged: RefCell<BTreeSet<String>>,
}

impl Deliveries {
    fn new(projections: Vec<Arc<dyn AnyProjection>>, cosmos: &Arc<Cosmos>) -> Self {
        let acknowledged = RefCell::default();
        Self { projections, dead_letters: DeadLetters::new(cosmos), acknowledged }
    }

    /// Delivers a batch of the change feed until it is acknowledged, as the host does.
    async fn deliver(&self, projection: usize, is_second_look: bool, states: &[Value]) {
        let source = BatchSource::ChangeFeed { is_second_look };
        self.apply(projection, source, states).await;
        self.acknowledged.borrow_mut().extend(states.iter().map(Value::to_string));
    }

    /// Applies a batch until it succeeds.
    async fn apply(&self, projection: usize, source: BatchSource, states: &[Value]) {
        for _ in 0..20 {
            let documents = documents(states);
            let invocation = InvocationId("an-invocation".into());
            let projection = &self.projections[projection];
            let run =
                projection.run(&self.dead_letters, BATCH_BUDGET, source, documents, invocation);
            if run.await.is_ok() {
                return;
            }
        }
        panic!("the projection never acknowledges a batch");
    }

    /// Returns those of the states that were never acknowledged.
    fn waiting(&self, mut states: Vec<Value>) -> Vec<Value> {
        let acknowledged = self.acknowledged.borrow();
        states.retain(|state| !acknowledged.contains(&state.to_string()));
        states
    }
}

/// Picks states of a history; none where it is empty.
fn pick(history: &[Value], states: &[Index]) -> Vec<Value> {
    let states = states.iter().filter(|_| !history.is_empty());
    states.map(|state| state.get(history).clone()).collect()
}

fn documents(states: &[Value]) -> Documents {
    let document = |state: &Value| Document::from_json(state.to_string()).unwrap();
    Documents(states.iter().map(document).collect())
}

/// Drops some work after so many requests to the store, as a crash does.
async fn kill<A: AppUnderTest, T>(
    world: &World<A>,
    after_requests: usize,
    work: impl Future<Output = T>,
) {
    let limit = world.endpoint.request_count() + after_requests;
    let mut work = pin!(work);
    poll_fn(|context| {
        if world.endpoint.request_count() >= limit {
            return Poll::Ready(());
        }
        work.as_mut().poll(context).map(drop)
    })
    .await;
}

/// Runs the proof on random histories. The error has the shortest history found that fails.
fn run<T: Debug>(
    steps: &impl Strategy<Value = T>,
    proof: impl AsyncFn(T) -> Result<(), String>,
) -> Result<(), String> {
    let cases = env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(HISTORIES),
        max_shrink_iters: 100,
        max_shrink_time: MAX_SHRINK_MS,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let proven = TestRunner::new(config)
        .run(steps, |steps| runtime.block_on(proof(steps)).map_err(TestCaseError::fail));
    proven.map_err(|error| error.to_string())
}

/// Puts a projection under the proof. `compare` compares the stored copies with the last states of the
/// sources. The error is a history after which they differ.
pub fn holds<S: Sources>(
    build: impl Fn(&Arc<Cosmos>) -> Arc<dyn AnyProjection>,
    compare: &impl AsyncFn(&World<S::App>, &[Value]) -> Result<(), String>,
) -> Result<(), String> {
    run(&steps(), async |steps| {
        let world = World::<S::App>::new().await;
        let one = World::<S::App>::cosmos(&world.endpoint).await;
        let other = World::<S::App>::cosmos(&world.endpoint).await;
        let mut proof = Proof {
            deliveries: Deliveries::new(vec![build(&one), build(&other)], &one),
            world,
            sources: S::default(),
            history: Vec::new(),
        };
        for step in steps {
            proof.apply(step).await;
        }
        let last = proof.last();
        proof.deliver(1, &proof.deliveries.waiting(last.clone())).await;
        compare(&proof.world, &last).await?;
        for state in proof.history.iter().rev() {
            proof.deliver(0, std::slice::from_ref(state)).await;
        }
        compare(&proof.world, &last).await?;
        proof.rebuild(1).await;
        compare(&proof.world, &last).await?;
        no_dead_letters(&proof.world).await
    })
}

async fn no_dead_letters<A: AppUnderTest>(world: &World<A>) -> Result<(), String> {
    equal("dead letters", &world.items("dead-letters").await, &Vec::new())
}

fn equal<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}

/// Puts copies under the proof: what stands in their container, but for tombstones, is what the
/// definition says of the last states of the sources.
pub fn copies<S: Sources, C: Copies>(copies: &'static str) -> Result<(), String> {
    let build = |cosmos: &Arc<Cosmos>| -> Arc<dyn AnyProjection> {
        let [sources, copies] = [S::CONTAINER, copies].map(|id| cosmos.container(id));
        Arc::new(CopyProjection::<C>::new(&sources, &copies))
    };
    holds::<S>(build, &async |world, last| {
        let states = last.iter().map(|state| serde_json::from_value(state.clone()).unwrap());
        let defined = states.flat_map(|state: C::Change| C::copies_of(&state));
        let defined = defined.map(|copy| serde_json::to_value(copy.item).unwrap());
        let expected: BTreeSet<String> = defined.filter_map(|copy| as_written(&copy)).collect();
        let found = world.items(copies).await.iter().filter_map(as_written).collect();
        equal("copies", &found, &expected)
    })
}

/// Returns an item as it was written; `None` for a tombstone.
fn as_written(item: &Value) -> Option<String> {
    (!is_tombstone(item)).then(|| properties(item, |_| true).to_string())
}

/// Returns true if the item has a time to live, so that the store removes it.
fn is_tombstone(item: &Value) -> bool {
    item.get("ttl").is_some()
}

fn properties(item: &Value, is_wanted: impl Fn(&str) -> bool) -> Value {
    let mut item = item.as_object().cloned().unwrap_or_default();
    item.retain(|name, _| !name.starts_with('_') && is_wanted(name));
    Value::Object(item)
}

/// Puts a window under the proof: it shows the newest of the last states of the sources, and its head
/// lists just them.
pub fn window<S: Sources, W: Window>(container: &'static str) -> Result<(), String> {
    let build = |cosmos: &Arc<Cosmos>| -> Arc<dyn AnyProjection> {
        let [sources, window] = [S::CONTAINER, container].map(|id| cosmos.container(id));
        Arc::new(WindowProjection::<W>::new(&sources, &window))
    };
    holds::<S>(build, &async |world, last| {
        let states = last.iter().map(|state| serde_json::from_value(state.clone()).unwrap());
        let mut newest: Vec<_> = states
            .filter_map(|state: W::Change| {
                let origin = state.origin()?;
                let source = W::source(&state)?;
                let copy = WindowItem::new(W::PARTITION, W::copy(source));
                let copy = serde_json::to_value(copy).unwrap();
                Some((W::creation_date(source), origin.name(), copy))
            })
            .collect();
        newest.sort_by_key(|(date, id, _)| Reverse((*date, id.clone())));
        newest.truncate(W::CAPACITY as usize);
        let expected: BTreeSet<String> =
            newest.iter().filter_map(|(.., copy)| as_written(copy)).collect();
        let (heads, others): (Vec<_>, Vec<_>) = world
            .items(container)
            .await
            .into_iter()
            .filter(|item| item["type"] == W::PARTITION)
            .partition(|item| item["id"] == WindowHead::ID);
        let found = others.iter().filter_map(as_written).collect();
        equal("the window", &found, &expected)?;
        let head = heads.into_iter().next().map(serde_json::from_value::<WindowHead>);
        let head = head.transpose().unwrap().unwrap_or_default();
        let members = head.members().iter().map(|member| &member.id).collect::<Vec<_>>();
        let newest = newest.iter().map(|(_, id, _)| id).collect();
        equal("refill and members of the head", &(head.refill, members), &(false, newest))
    })
}

/// Puts an aggregate under the proof: each total is the sum of what its definition says of the last
/// states of the sources.
pub fn aggregate<S: Sources, A: Aggregate>(totals: &'static str) -> Result<(), String> {
    let build = |cosmos: &Arc<Cosmos>| -> Arc<dyn AnyProjection> {
        let [sources, totals] = [S::CONTAINER, totals].map(|id| cosmos.container(id));
        Arc::new(AggregateProjection::<A>::new(&sources, &totals))
    };
    holds::<S>(build, &async |world, last| {
        let mut expected = BTreeMap::<String, i64>::new();
        for state in last {
            let state: A::Change = serde_json::from_value(state.clone()).unwrap();
            for contribution in A::contributions(&state) {
                *expected.entry(contribution.key).or_default() += contribution.amount;
            }
        }
        expected.retain(|_, total| *total != 0);
        let mut items = world.items(totals).await;
        items.retain(|item| item["id"] == "total" && item["value"] != 0);
        let total =
            |item: &Value| Some((item["key"].as_str()?.to_owned(), item["value"].as_i64()?));
        equal("totals", &items.iter().filter_map(total).collect(), &expected)
    })
}
