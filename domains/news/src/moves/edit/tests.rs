//! Workers that move one item, against a model of the store. Each request of a worker is a step: between
//! two of them others come first, the worker is cut off, or the store is in fault.

use std::{
    collections::BTreeMap,
    mem,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use proptest::prelude::*;
use tributary_functions::cosmos::Retryable;

use super::*;
use crate::{
    model::{
        Content, FeedItem, ItemId, Metadata, PartitionKey, ProviderId, SourceUrl, Tier, Title,
    },
    moves::FoundItem,
};

const ID: &str = "note";

/// Two logical partitions in each of two containers.
fn place(number: usize) -> Place {
    let tier = [Tier::Hot, Tier::Warm][number / 2 % 2];
    let key = ["2026-10", "2026-11"][number % 2];
    Place { tier, partition_key: PartitionKey::parse(key.to_owned()).unwrap() }
}

fn note(at: &Place, text: usize) -> FeedItem {
    let now = Timestamp::EPOCH;
    let source_url = SourceUrl::parse("https://example.com/a".to_owned()).unwrap();
    let feed_provider_id = ProviderId::parse("reuters".to_owned()).unwrap();
    FeedItem {
        id: ItemId::from_source(&feed_provider_id, &source_url),
        partition_key: at.partition_key.clone(),
        feed_provider_id,
        title: Title::parse(text.to_string()).unwrap(),
        content: Content::parse("Text".to_owned()).unwrap(),
        published_date: now,
        crawled_date: now,
        source_url: source_url.to_string(),
        tags: Vec::new(),
        metadata: Metadata::default(),
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum StepFault {
    #[default]
    Nothing,
    /// A read without latest reads sees the state before.
    Stale,
    /// The request is not carried out.
    Unavailable,
    AnswerLost,
    /// The logical partition takes no write.
    Full,
    /// The worker ends before the request.
    Crash,
}

/// All states of one item of the store, each with its ETag.
type History<T> = Vec<Option<(T, u32)>>;

#[derive(Default)]
struct State {
    slots: BTreeMap<(Tier, PartitionKey), History<NewsItem>>,
    location: History<Location>,
    etag: u32,
    fault: StepFault,
}

fn read<T: Clone>(history: &History<T>, is_stale: bool) -> Option<Stored<T>> {
    let (item, etag) = history.iter().rev().nth(usize::from(is_stale))?.clone()?;
    Some(Stored { item, etag: ETag::from(etag.to_string()) })
}

fn write<T: Clone>(
    history: &mut History<T>,
    item: Option<T>,
    over: Option<&ETag>,
    etag: &mut u32,
) -> Result<ETag, StoreError> {
    let refused = |reason| Err(StoreError::new(reason, false));
    match (over, read(history, false)) {
        (None, Some(_)) => return refused(Reason::Conflict),
        (Some(_), None) => return refused(Reason::NotFound),
        (Some(over), Some(now)) if *over != now.etag => return refused(Reason::PreconditionFailed),
        _ => {}
    }
    *etag += 1;
    history.push(item.map(|item| (item, *etag)));
    Ok(ETag::from(etag.to_string()))
}

#[derive(Clone)]
struct Model {
    state: Arc<Mutex<State>>,
    is_latest: bool,
}

impl Model {
    /// Makes a request: in its turn, when the worker is polled once more.
    async fn request<T>(
        &self,
        carry_out: impl FnOnce(&mut State, StepFault) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        futures::pending!();
        let mut state = self.state.lock().unwrap();
        let fault = mem::take(&mut state.fault);
        if fault == StepFault::Unavailable {
            return Err(StoreError::new(Reason::Unavailable, true));
        }
        carry_out(&mut state, fault)
    }
}

fn answer<T>(written: Result<T, StoreError>, fault: StepFault) -> Result<T, StoreError> {
    if fault == StepFault::AnswerLost {
        return Err(StoreError::new(Reason::Unavailable, true));
    }
    written
}

impl Places for Model {
    fn latest(&self) -> Self {
        Self { is_latest: true, ..self.clone() }
    }

    async fn slot(&self, place: &Place, _id: &str) -> ReadResult<NewsItem> {
        let key = (place.tier, place.partition_key.clone());
        self.request(|state, fault| {
            let is_stale = fault == StepFault::Stale && !self.is_latest;
            Ok(read(state.slots.entry(key).or_default(), is_stale))
        })
        .await
    }

    async fn save<T: ContainerItem<Items = NewsItem>>(
        &self,
        tier: Tier,
        item: T,
        over: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        let key = (tier, PartitionKey::parse(item.key().0.to_owned()).unwrap());
        self.request(|State { slots, etag, .. }, fault| {
            if fault == StepFault::Full {
                return Err(StoreError::new(Reason::PartitionFull, false));
            }
            let slot = Some(item.clone().into());
            answer(write(slots.entry(key).or_default(), slot, over, etag), fault)
        })
        .await
        .map(|etag| Stored { item, etag })
    }

    async fn empty_slot(&self, place: &Place, _id: &str, over: &ETag) -> Result<(), StoreError> {
        let key = (place.tier, place.partition_key.clone());
        self.request(|State { slots, etag, .. }, fault| {
            let emptied = write(slots.entry(key).or_default(), None, Some(over), etag);
            answer(emptied.map(drop), fault)
        })
        .await
    }

    async fn location(&self, _id: &str) -> ReadResult<Location> {
        self.request(|state, fault| {
            Ok(read(&state.location, fault == StepFault::Stale && !self.is_latest))
        })
        .await
    }

    async fn locate(
        &self,
        id: &str,
        (place, version): (&Place, u64),
        over: Option<&ETag>,
    ) -> Result<(), StoreError> {
        let id = id.to_owned();
        let place = place.clone();
        let item = Location { partition_key: id.clone(), id, place, version };
        self.request(|State { location, etag, .. }, fault| {
            answer(write(location, Some(item), over, etag).map(drop), fault)
        })
        .await
    }
}

#[derive(Debug, Clone)]
enum Work {
    /// A command stores the note with a text of its own in a place.
    Post { to: usize },
    /// A run ends the moves from all places.
    EndMoves,
}

/// The outcome of a worker: the version and text that a caller has been told.
type Told = Option<(u64, usize)>;

async fn work(model: Model, work: Work, number: usize) -> Told {
    let mut model = model;
    for _ in 0..10 {
        let outcome = match work {
            Work::Post { to } => post(&model, &place(to), number).await.map(Some),
            Work::EndMoves => end_all(&model).await.map(|()| None),
        };
        match outcome {
            Ok(told) => return told,
            Err(error) if error.is_retryable() => model = model.latest(),
            Err(_) => return None,
        }
    }
    None
}

async fn end_all(model: &Model) -> Result<(), StoreError> {
    for number in 0..4 {
        end(model, &place(number), ID).await?;
    }
    Ok(())
}

/// Stores the note, as a command does by the recipe of the engine.
async fn post(model: &Model, to: &Place, text: usize) -> Result<(u64, usize), StoreError> {
    let command = CommandId::from_text(&format!("command {text}"));
    let Some(location) = model.location(ID).await? else {
        model.locate(ID, (to, 1), None).await?;
        let item = StoredItem::new(note(to, text), &command);
        return model.save(to.tier, item, None).await.map(|_| (1, text));
    };
    let former = &location.item.place;
    let found = model.find(&former.partition_key, ID).await?;
    let Some(FoundItem { tier, stored: Stored { item, etag } }) = found else {
        if !model.is_latest {
            return Err(StoreError::race(false));
        }
        if former != to {
            let over = model.slot(former, ID).await?.map(vacant).transpose()?;
            let here = former.partition_key.clone();
            let to = to.partition_key.clone();
            model.save(former.tier, Vacated::new(ID, here, to), over.as_ref()).await?;
        }
        let over = model.slot(to, ID).await?.map(vacant).transpose()?;
        model.locate(ID, (to, 1), Some(&location.etag)).await?;
        let item = StoredItem::new(note(to, text), &command);
        return model.save(to.tier, item, over.as_ref()).await.map(|_| (1, text));
    };
    if item.knows(&command) {
        return Ok((item.version, item.public.title.as_str().parse().unwrap()));
    }
    let here = Place { tier, partition_key: item.public.partition_key.clone() };
    if let Some(left) = unfinished_from(&item, &here, &location.item) {
        end(model, &left, ID).await?;
        return Err(StoreError::race(false));
    }
    let stored = if here == *to {
        model.save(tier, item.edited(note(to, text), &command), Some(&etag)).await?
    } else {
        let departure = Departure { to: to.clone(), item: note(to, text), command };
        depart(model, &here, Stored { item, etag }, location, departure).await?
    };
    Ok((stored.item.version, text))
}

/// Returns the copies that a reader shows: those that are here, and have not arrived elsewhere.
fn shown(state: &State) -> Vec<StoredItem> {
    let current = |history: &History<NewsItem>| read(history, false)?.item.current();
    let has_arrived = |item: &StoredItem| {
        let Some(Departure { to, .. }) = item.departure.as_deref() else { return false };
        let version = item.version + 1;
        let target = state.slots.get(&(to.tier, to.partition_key.clone()));
        let target = target.and_then(|history| read(history, false));
        target.is_some_and(|target| target.item.has_version(version))
            || is_located(read(&state.location, false).as_ref(), version)
    };
    state.slots.values().filter_map(current).filter(|item| !has_arrived(item)).collect()
}

/// Checks a state: the note is shown once, and never in an older version than before.
fn check(state: &State, newest: &mut u64) -> Result<(), TestCaseError> {
    let shown = shown(state);
    prop_assert!(shown.len() <= 1, "it is there twice: {shown:?}");
    let version = shown.first().map_or(0, |item| item.version);
    prop_assert!(version >= *newest, "version {newest} is lost: {shown:?}");
    *newest = version;
    Ok(())
}

type Worker = Pin<Box<dyn Future<Output = Told>>>;

/// Lets the workers make requests in this order, and then each to its end without fault.
fn run(works: &[Work], turns: &[(usize, StepFault)]) -> Result<(), TestCaseError> {
    let model = Model { state: Arc::default(), is_latest: false };
    let start =
        |number: usize| -> Worker { Box::pin(work(model.clone(), works[number].clone(), number)) };
    let mut workers: Vec<Option<Worker>> =
        (0..works.len()).map(|number| Some(start(number))).collect();
    let rest = (0..works.len()).flat_map(|number| vec![(number, StepFault::Nothing); 300]);
    let mut newest = 0;
    for (number, fault) in turns.iter().copied().chain(rest) {
        let number = number % works.len();
        let Some(worker) = &mut workers[number] else { continue };
        if fault == StepFault::Crash {
            workers[number] = None;
            continue;
        }
        model.state.lock().unwrap().fault = fault;
        if let Poll::Ready(told) = worker.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            workers[number] = None;
            if let Some((version, text)) = told {
                let shown = shown(&model.state.lock().unwrap());
                let is_told = |item: &StoredItem| {
                    item.version > version
                        || item.public.title.as_str() == text.to_string() && item.version == version
                };
                prop_assert!(shown.iter().any(is_told), "{told:?} is lost: {shown:?}");
            }
        }
        check(&model.state.lock().unwrap(), &mut newest)?;
    }
    prop_assert!(workers.iter().all(Option::is_none), "a worker does not end");
    at_rest(&model, newest)
}

/// Checks that a post finds the note wherever it is, and that all moves can be ended.
fn at_rest(model: &Model, newest: u64) -> Result<(), TestCaseError> {
    let mut newest = newest;
    for (number, last) in
        [Work::Post { to: 0 }, Work::Post { to: 3 }, Work::EndMoves].into_iter().enumerate()
    {
        let mut worker: Worker = Box::pin(work(model.clone(), last.clone(), 1_000 + number));
        let told = loop {
            if let Poll::Ready(told) = worker.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                break told;
            }
            check(&model.state.lock().unwrap(), &mut newest)?;
        };
        prop_assert!(told.is_some() || matches!(last, Work::EndMoves), "{last:?} is refused");
    }
    let state = model.state.lock().unwrap();
    let shown = shown(&state);
    prop_assert!(shown.iter().all(|item| item.state == CopyState::Live) && shown.len() == 1);
    let located = read(&state.location, false).unwrap().item.place.partition_key;
    prop_assert_eq!(&located, &shown[0].public.partition_key);
    Ok(())
}

fn works() -> impl Strategy<Value = Vec<Work>> {
    let work = prop_oneof![
        3 => (0..4_usize).prop_map(|to| Work::Post { to }),
        1 => Just(Work::EndMoves),
    ];
    prop::collection::vec(work, 2..7)
}

fn turns() -> impl Strategy<Value = Vec<(usize, StepFault)>> {
    let fault = prop_oneof![
        20 => Just(StepFault::Nothing),
        3 => Just(StepFault::Stale),
        1 => Just(StepFault::Unavailable),
        1 => Just(StepFault::AnswerLost),
        2 => Just(StepFault::Full),
        1 => Just(StepFault::Crash),
    ];
    prop::collection::vec((0..6_usize, fault), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Whatever happens, the note is neither lost nor doubled, and no post that was acknowledged is lost.
    #[test]
    fn a_note_that_moves_is_in_one_place(works in works(), turns in turns()) {
        run(&works, &turns)?;
    }
}

/// The first worker has written the location and is about to create the note. The second creates it
/// elsewhere, and keeps the first one out. The third moves it to the place of the first, which is full.
#[test]
fn a_move_that_is_taken_back_leaves_what_keeps_a_late_item_out() {
    let works = [Work::Post { to: 0 }, Work::Post { to: 1 }, Work::Post { to: 0 }];
    let requests = |number: usize, n: usize| vec![(number, StepFault::Nothing); n];
    let begun = [requests(0, 3), requests(1, 30), requests(2, 6)].concat();
    run(&works, &[begun, vec![(2, StepFault::Full)], requests(2, 30)].concat()).unwrap();
}
