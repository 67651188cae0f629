//! Groups against a model of the store, whatever the store and other writers do meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{
    engines::idempotency::{RecentCommands, remembers},
    values::{CommandId, item_types},
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Room {
    bookings: usize,
    ids: BTreeSet<String>,
    title: String,
    recent: RecentCommands,
}

remembers!(Room);

/// A booking, with the commands that have created it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Booking {
    id: String,
    version: u64,
    commands: BTreeSet<usize>,
}

/// The tombstone of a booking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct DeletedBooking(Booking);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Item {
    Room(Room),
    Booking(Booking),
    DeletedBooking(DeletedBooking),
}

item_types!(Item: Room(Room), Booking(Booking), DeletedBooking(DeletedBooking));

impl Booking {
    fn new(id: &str, command: usize) -> Self {
        Self { id: id.to_owned(), version: 1, commands: BTreeSet::from([command]) }
    }

    fn deleted(&self) -> DeletedBooking {
        DeletedBooking(Self { version: self.version + 1, ..self.clone() })
    }

    fn recreated(&self, tombstone: Item) -> Option<Self> {
        let DeletedBooking(deleted) = tombstone.try_into().ok()?;
        let is_repeated = !self.commands.is_disjoint(&deleted.commands);
        let commands = &self.commands | &deleted.commands;
        let version = deleted.version + 1;
        (!is_repeated).then(|| Self { version, commands, ..self.clone() })
    }
}

struct Rooms;

impl Family for Rooms {
    const PARENT: &'static str = "room";
    const CHILD: &'static str = "booking";
    type Key = String;
    type Item = Item;
    type Parent = Room;
    type Child = Booking;
    type ChildId = String;
    type Edit = String;
    type Refused = String;

    fn child_item(child: &Booking, _parent: &Room) -> Item {
        Item::Booking(child.clone())
    }

    fn child_id(child: &Booking) -> String {
        child.id.clone()
    }

    fn after(parent: &Room, changes: &Changes<'_, Self>) -> Room {
        let before = u64::try_from(parent.bookings).unwrap();
        let bookings = usize::try_from(changes.count(before, |_| true)).unwrap();
        let title = changes.edit.unwrap_or(&parent.title).clone();
        let mut ids = parent.ids.clone();
        ids.retain(|id| !changes.deletes(id));
        ids.extend(changes.created().map(|booking| booking.id.clone()));
        Room { bookings, ids, title, recent: parent.recent.clone() }
    }

    fn refuses(parent: impl FnOnce() -> Room, booking: &Booking) -> Option<String> {
        excludes(&parent(), &booking.id)
    }

    fn recreated(booking: &Booking, tombstone: Item) -> Option<Booking> {
        booking.recreated(tombstone)
    }

    fn is_created_once(id: &String) -> bool {
        id.starts_with("once")
    }
}

/// Bookings of one moment: a room has at most one of them.
const EXCLUSIVE: [&str; 3] = ["b", "c", "once-b"];

/// Returns the booking of a room that excludes another.
fn excludes(room: &Room, id: &str) -> Option<String> {
    let is_exclusive = |id: &str| EXCLUSIVE.contains(&id);
    let other = room.ids.iter().find(|other| *other != id && is_exclusive(other));
    other.filter(|_| is_exclusive(id)).cloned()
}

/// A booking that is toggled, and one whose tombstone stays: its room has forgotten that it was created once.
const LEAVE_TOMBSTONES: [&str; 2] = ["a", "once-a"];

/// The content of the store. A room that is deleted leaves its bookings for a while.
#[derive(Clone, Debug, Default)]
struct State {
    room: Option<(Room, u32)>,
    bookings: BTreeMap<String, (Booking, u32)>,
    tombstones: BTreeMap<String, (DeletedBooking, u32)>,
}

impl State {
    fn has(&self, id: &str) -> bool {
        self.bookings.contains_key(id) || self.tombstones.contains_key(id)
    }

    /// Returns the item under the id of a booking.
    fn at(&self, id: &str) -> Option<Stored<Item>> {
        let booking = self.bookings.get(id).map(|(it, etag)| (it.clone().into(), etag));
        let tombstone = || self.tombstones.get(id).map(|(it, etag)| (it.clone().into(), etag));
        let (item, etag) = booking.or_else(tombstone)?;
        Some(Stored { item, etag: text(*etag) })
    }

    fn book(&mut self, booking: Booking, etag: u32) {
        if let Some((DeletedBooking(deleted), _)) = self.tombstones.remove(&booking.id) {
            assert!(deleted.version < booking.version, "{booking:?} has an old version");
            let n_commands = [deleted.commands.len(), booking.commands.len()];
            assert!(n_commands[0] < n_commands[1], "{booking:?} is created twice by one command");
        }
        self.bookings.insert(booking.id.clone(), (booking, etag));
    }

    fn cancel(&mut self, id: &str, etag: u32) {
        if let Some((booking, _)) = self.bookings.remove(id)
            && LEAVE_TOMBSTONES.contains(&id)
        {
            self.tombstones.insert(id.to_owned(), (booking.deleted(), etag));
        }
    }
}

#[derive(Clone, Debug)]
enum StoreFault {
    Nothing,
    OtherEdits,
    OtherDeletesRoom,
    OtherBooks(String),
    OtherCancels(String),
    TombstonesExpire,
    /// A read that is not of the latest state sees the state before.
    Stale,
    Throttled,
    /// The transaction is carried out, and its response is lost.
    AnswerLost,
    /// The transaction is carried out, and the SDK has sent it once more.
    SentTwice,
}

#[derive(Clone)]
struct Store {
    states: Vec<State>,
    /// The first state of the group.
    begin: usize,
    /// The most children of a transaction.
    takes: usize,
    etag: u32,
    created: BTreeSet<(String, u32)>,
    /// The next command of another writer.
    command: usize,
}

impl Store {
    fn now(&self) -> &State {
        self.states.last().unwrap()
    }

    fn other(&mut self, fault: &StoreFault) {
        let etag = self.etag + 1;
        let mut state = self.now().clone();
        let Some((mut room, _)) = state.room.take() else { return };
        match fault {
            StoreFault::OtherDeletesRoom => {
                self.etag = etag;
                self.states.push(state);
                return;
            }
            StoreFault::TombstonesExpire => state.tombstones.clear(),
            StoreFault::OtherEdits => "another".clone_into(&mut room.title),
            StoreFault::OtherBooks(id)
                if (!state.has(id) || *id == "a" && state.tombstones.contains_key("a"))
                    && !room.recent.has_deleted(id, Timestamp::now())
                    && excludes(&room, id).is_none() =>
            {
                self.command += 1;
                let booking = Booking::new(id, self.command);
                let again = state.at(id).and_then(|it| booking.recreated(it.item));
                state.book(again.unwrap_or(booking), etag);
                room.bookings += 1;
                room.ids.insert(id.clone());
            }
            StoreFault::OtherCancels(id) if state.bookings.contains_key(id) => {
                state.cancel(id, etag);
                room.bookings -= 1;
                room.ids.remove(id);
                if Rooms::is_created_once(id) && id != "once-a" {
                    room.recent.remember_deleted([id.clone()], Timestamp::now());
                }
            }
            _ => return,
        }
        state.room = Some((room, etag));
        self.etag = etag;
        self.states.push(state);
    }

    fn visible(&self, on_latest: bool, fault: &StoreFault) -> &State {
        let is_stale = !on_latest && matches!(fault, StoreFault::Stale);
        self.states.iter().rev().nth(is_stale.into()).unwrap_or(self.now())
    }

    /// Carries a transaction out, or refuses it for the first operation that cannot be done.
    fn transact(&mut self, write: &Write<Item>) -> Result<NewETags, Refusal> {
        let State { room, bookings, .. } = self.now();
        let refused = |operation, reason| Err(refusal(Some(operation), reason, false));
        for (index, child) in write.children.iter().enumerate() {
            match child {
                ChildWrite::Create(item) if self.now().has(&id_of(item)) => {
                    return refused(index, Reason::Conflict);
                }
                ChildWrite::Delete(id, if_match) => match (bookings.get(id), if_match) {
                    (None, _) => return refused(index, Reason::NotFound),
                    (Some((_, etag)), Some(wanted)) if *wanted != text(*etag) => {
                        return refused(index, Reason::PreconditionFailed);
                    }
                    _ => {}
                },
                ChildWrite::Replace(id, _, etag) => match self.now().at(id) {
                    None => return refused(index, Reason::NotFound),
                    Some(stored) if stored.etag == *etag => {}
                    Some(_) => return refused(index, Reason::PreconditionFailed),
                },
                ChildWrite::Create(_) => {}
            }
        }
        match room {
            None => return refused(write.children.len(), Reason::NotFound),
            Some((_, etag)) if text(*etag) != write.upon => {
                return refused(write.children.len(), Reason::PreconditionFailed);
            }
            Some(_) => {}
        }
        let Item::Room(room) = write.parent.clone() else { unreachable!("the parent is a room") };
        self.etag += 1;
        let etag = self.etag;
        let mut state = self.now().clone();
        let before = state.room.replace((room, etag));
        let deleted =
            |id: &str| before.as_ref().unwrap().0.recent.has_deleted(id, Timestamp::now());
        let mut children = Vec::new();
        for child in &write.children {
            match child {
                ChildWrite::Create(Item::Booking(booking))
                | ChildWrite::Replace(_, Item::Booking(booking), _) => {
                    assert!(!deleted(&booking.id), "{booking:?} comes back");
                    let replaced = state.tombstones.get(&booking.id);
                    assert!(replaced.is_none() || booking.id == "a", "{booking:?} comes back");
                    state.book(booking.clone(), etag);
                    self.created.insert((booking.id.clone(), etag));
                    children.push(Some(text(etag)));
                }
                ChildWrite::Delete(id, _) => {
                    state.bookings.remove(id);
                    children.push(None);
                }
                ChildWrite::Create(_) => unreachable!("a child is a booking"),
                ChildWrite::Replace(id, ..) => {
                    state.cancel(id, etag);
                    children.push(Some(text(etag)));
                }
            }
        }
        self.states.push(state);
        Ok(NewETags { children, parent: text(etag) })
    }

    fn answer(
        &mut self,
        step: GroupStep<Rooms>,
        on_latest: bool,
        fault: &StoreFault,
    ) -> StoreAnswer<Rooms> {
        self.other(fault);
        let refused = |reason, lost| StoreAnswer::Refused(refusal(None, reason, lost));
        match (step, fault) {
            (GroupStep::Write(_), StoreFault::Throttled) => refused(Reason::Throttled, false),
            (_, StoreFault::Throttled) => {
                StoreAnswer::Failed(StoreError::new(Reason::Throttled, false))
            }
            (GroupStep::ReadParent, _) => {
                StoreAnswer::Parent(known(self.visible(on_latest, fault)))
            }
            (GroupStep::Find(ids), _) => {
                let state = self.visible(on_latest, fault);
                let found = |id: String| state.at(&id).map(|stored| (id, stored));
                StoreAnswer::Found(ids.into_iter().filter_map(found).collect())
            }
            (GroupStep::Write(write), _) if write.children.len() > self.takes => {
                refused(Reason::TooLarge, false)
            }
            (GroupStep::Write(write), _) => match (self.transact(&write), fault) {
                (Ok(_), StoreFault::AnswerLost) => refused(Reason::Unavailable, true),
                (Ok(_), StoreFault::SentTwice) => {
                    let Err(Refusal { operation, error }) = self.transact(&write) else {
                        unreachable!("its own ETag has changed");
                    };
                    StoreAnswer::Refused(Refusal { operation, error: error.with_lost_answer(true) })
                }
                (Ok(written), _) => StoreAnswer::Written(written),
                (Err(refusal), _) => StoreAnswer::Refused(refusal),
            },
            (GroupStep::End(_), _) => unreachable!("it has ended"),
        }
    }
}

fn refusal(operation: Option<usize>, reason: Reason, lost: bool) -> Refusal {
    Refusal { operation, error: StoreError::new(reason, lost) }
}

fn known(state: &State) -> Option<ParentState<Rooms>> {
    let (room, etag) = state.room.clone()?;
    Some(Arc::new(Stored { item: room, etag: text(etag) }))
}

fn id_of(item: &Item) -> String {
    Booking::try_from(item.clone()).unwrap().id
}

fn text(etag: u32) -> ETag {
    ETag::from(etag.to_string())
}

const IDS: [&str; 6] = ["a", "b", "c", "once-a", "once-b", "once-c"];

fn id() -> impl Strategy<Value = String> {
    prop::sample::select(&IDS[..]).prop_map(str::to_owned)
}

fn faults() -> impl Strategy<Value = Vec<StoreFault>> {
    let fault = prop_oneof![
        6 => Just(StoreFault::Nothing),
        1 => Just(StoreFault::OtherEdits),
        1 => Just(StoreFault::TombstonesExpire),
        1 => Just(StoreFault::OtherDeletesRoom),
        1 => id().prop_map(StoreFault::OtherBooks),
        1 => id().prop_map(StoreFault::OtherCancels),
        2 => Just(StoreFault::Stale),
        1 => Just(StoreFault::Throttled),
        1 => Just(StoreFault::AnswerLost),
        1 => Just(StoreFault::SentTwice),
    ];
    prop::collection::vec(fault, 0..12)
}

#[derive(Clone, Debug)]
enum Asked {
    Create(String),
    Delete(String),
    Edit,
}

impl Asked {
    /// Returns the change of the command with this number, which has read what the store has now.
    fn change(self, n: usize, store: &Store) -> Change<Rooms> {
        match self {
            Asked::Create(id) => Change::Create(Booking::new(&id, n)),
            Asked::Delete(id) => {
                let known = store.now().bookings.get(&id).map(|(booking, _)| booking.deleted());
                let known = known.unwrap_or_else(|| Booking::new(&id, n).deleted());
                let leaves = LEAVE_TOMBSTONES.contains(&id.as_str());
                Change::Delete(id, leaves.then(|| known.into()))
            }
            Asked::Edit => Change::Edit("new".to_owned()),
        }
    }
}

fn operations() -> impl Strategy<Value = Vec<Asked>> {
    let of_bookings = prop::sample::subsequence(&IDS[..], 0..=IDS.len());
    (of_bookings, prop::collection::vec(any::<bool>(), IDS.len()), any::<bool>())
        .prop_map(|(ids, creates, edits)| {
            let change = |(id, creates): (&str, bool)| {
                let id = id.to_owned();
                if creates { Asked::Create(id) } else { Asked::Delete(id) }
            };
            let edit = edits.then_some(Asked::Edit);
            ids.into_iter().zip(creates).map(change).chain(edit).collect::<Vec<_>>()
        })
        .prop_shuffle()
}

fn before() -> impl Strategy<Value = Vec<StoreFault>> {
    let other = prop_oneof![
        3 => id().prop_map(StoreFault::OtherBooks),
        1 => id().prop_map(StoreFault::OtherCancels),
        1 => Just(StoreFault::OtherDeletesRoom),
    ];
    prop::collection::vec(other, 0..5)
}

fn store(before: &[StoreFault], takes: usize) -> Store {
    let first = State { room: Some((Room::default(), 0)), ..State::default() };
    // Commands of other writers have higher numbers than those of a group.
    let (created, command) = (BTreeSet::new(), 100);
    let mut store = Store { states: vec![first], begin: 0, takes, etag: 0, created, command };
    for other in before {
        store.other(other);
    }
    store.begin = store.states.len() - 1;
    store
}

/// A command that leaves a tombstone has read the booking before.
fn group(asked: Vec<Asked>, on_latest: bool, store: &Store) -> Group<Rooms> {
    let operation = |(n, asked): (usize, Asked)| {
        let change = asked.change(n, store);
        let known = |id| store.now().bookings.get(id).map_or(0, |(_, etag)| *etag);
        let if_match = match &change {
            Change::Delete(id, Some(_)) => Some(text(known(id))),
            _ => None,
        };
        let command = CommandId::from_text(&format!("command {n}"));
        Operation { change, command, if_match, parent_read: None, on_latest }
    };
    Group::new(asked.into_iter().enumerate().map(operation).collect(), Timestamp::now())
}

/// Lets a group end, under faults that come again and again, and returns the number of its requests.
fn run(
    group: &mut Group<Rooms>,
    remembered: Option<ParentState<Rooms>>,
    store: &mut Store,
    faults: &[StoreFault],
) -> usize {
    let mut faults = faults.iter().cycle();
    let mut step = group.begin(remembered);
    let mut requests = 0;
    let mut looks = 0;
    while !matches!(step, GroupStep::End(_)) {
        requests += 1;
        looks += usize::from(matches!(step, GroupStep::Find(_)));
        assert!(requests < 100, "it does not end");
        assert!(looks <= 2, "it looks again and again");
        let fault = faults.next().unwrap_or(&StoreFault::Nothing);
        step = group.next(store.answer(step, group.on_latest, fault));
    }
    requests
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn each_operation_of_a_group_gets_its_true_outcome(
        asked in operations(),
        before in before(),
        faults in faults(),
        takes in 1..=IDS.len(),
        remembered in 0..3_usize,
        on_latest: bool,
    ) {
        let mut store = store(&before, takes);
        // None, the parent as it is, or as it was one change before.
        let remembered = remembered.checked_sub(1);
        let is_remembered = remembered.is_some();
        let remembered = remembered.and_then(|age| known(&store.states[store.begin.saturating_sub(age)]));
        let n = asked.len();
        // The same commands once more: the host repeats them all.
        let mut repeated = group(asked.clone(), on_latest, &store);
        let mut group = group(asked, on_latest, &store);
        let requests = run(&mut group, remembered, &mut store, &faults);
        prop_assert!(requests <= 3 * n + 12, "{requests} requests for {n} operations");
        run(&mut repeated, None, &mut store.clone(), &faults);

        for State { room, bookings, .. } in &store.states {
            if let Some((room, _)) = room {
                prop_assert_eq!(room.bookings, bookings.len());
                prop_assert!(room.ids.iter().eq(bookings.keys()));
                let exclusive = EXCLUSIVE.iter().filter(|id| room.ids.contains(**id));
                prop_assert!(exclusive.count() <= 1, "{:?} exclude each other", room.ids);
            }
        }
        let during = &store.states[store.begin..];
        let once = |is_so: &dyn Fn(&State) -> bool| during.iter().any(is_so);
        // A stale replica is one change behind; a command that is refused for what it has read is
        // retried with latest reads.
        let states = if on_latest { during } else { &store.states[store.begin.saturating_sub(1)..] };
        let seen_once = |is_so: &dyn Fn(&State) -> bool| states.iter().any(is_so);
        let has_room = |state: &State| state.room.is_some();
        let operations = mem::take(&mut group.operations);
        // Another writer has deleted since what a command has read.
        let is_late = operations.iter().any(|operation| operation.if_match == Some(text(0)));
        for (operation, outcome) in operations.iter().zip(group.outcomes()) {
            let id = operation.child_id().unwrap_or_default();
            let has_booking = |state: &State| state.bookings.contains_key(&id);
            let knows = |state: &State| {
                state.room.as_ref().is_some_and(|(room, _)| room.knows(&operation.command))
            };
            match (&operation.change, outcome) {
                (Change::Create(_), Ok(OperationOutcome::Done { child, .. })) => {
                    let etag = child.unwrap().to_string().parse().unwrap();
                    prop_assert!(store.created.contains(&(id, etag)));
                }
                (Change::Create(_), Ok(OperationOutcome::InTheWay(Stored { item, .. }))) => {
                    let is_tombstone = matches!(item, Item::DeletedBooking(_));
                    let has_both = |state: &State| {
                        let has_tombstone = is_tombstone && state.tombstones.contains_key(&id);
                        has_room(state) && (has_tombstone || has_booking(state))
                    };
                    prop_assert!(once(&has_both), "there was no {id} in a room");
                }
                (Change::Create(_), Ok(OperationOutcome::Refused(other))) => {
                    let is_excluded = |state: &State| {
                        has_room(state) && state.bookings.contains_key(&other)
                    };
                    prop_assert!(once(&is_excluded), "{other} did not exclude {id}");
                }
                (Change::Create(_), Ok(OperationOutcome::Deleted)) => {
                    prop_assert!(id.starts_with("once") && once(&|state| !has_booking(state)));
                }
                (Change::Delete(..), Ok(OperationOutcome::Done { .. })) => {
                    prop_assert!(once(&knows) && once(&|state| !has_booking(state)), "{id} stays");
                }
                (Change::Delete(..), Ok(OperationOutcome::Missing)) => {
                    prop_assert!(seen_once(&|state| !has_booking(state)), "{id} was there");
                    prop_assert!(!once(&knows), "{id} was deleted by this command");
                }
                (Change::Edit(title), Ok(OperationOutcome::Done { .. })) => {
                    let is_edited = |state: &State| {
                        state.room.as_ref().is_some_and(|(room, _)| room.title == *title)
                    };
                    prop_assert!(once(&is_edited));
                }
                (_, Ok(OperationOutcome::NoParent)) => {
                    prop_assert!(seen_once(&|state| !has_room(state)));
                }
                (_, Ok(_)) => prop_assert!(false, "an outcome of another operation"),
                // The command is retried.
                (_, Err(error)) => {
                    let is_missing = error.reason == Reason::NotFound;
                    prop_assert!(!is_missing || once(&|state| !has_room(state)));
                    prop_assert!(!faults.is_empty() || is_remembered || is_late, "{error}");
                }
            }
        }
    }
}

/// The room as a stale replica shows it still has the booking.
#[test]
fn a_delete_frees_the_place_in_its_own_transaction_and_for_an_instance_that_is_behind() {
    let is_done =
        |outcome: &OperationResult<Rooms>| matches!(outcome, Ok(OperationOutcome::Done { .. }));
    let booked = || store(&[StoreFault::OtherBooks("b".to_owned())], IDS.len());
    let create = || Asked::Create("c".to_owned());
    let mut store = booked();
    let both = vec![Asked::Delete("b".to_owned()), create()];
    let mut both = group(both, false, &store);
    assert_eq!(run(&mut both, None, &mut store, &[]), 2);
    assert!(both.outcomes().iter().all(is_done));

    let mut store = booked();
    let mut refused = group(vec![create()], false, &store);
    assert_eq!(run(&mut refused, None, &mut store, &[]), 2);
    let outcomes = refused.outcomes();
    assert!(matches!(&outcomes[..], [Ok(OperationOutcome::Refused(other))] if other == "b"));

    let before = known(store.now());
    store.other(&StoreFault::OtherCancels("b".to_owned()));
    for (remembered, requests) in [(None, 3), (before, 2)] {
        let mut store = Store { states: store.states.clone(), created: BTreeSet::new(), ..store };
        let mut behind = group(vec![create()], false, &store);
        assert_eq!(run(&mut behind, remembered, &mut store, &[StoreFault::Stale]), requests);
        assert!(behind.outcomes().iter().all(is_done));
    }
}

/// The transaction of the first is repeated by the SDK; the second was in none.
#[test]
fn a_lost_answer_is_not_taken_for_that_of_a_delete_that_was_not_sent() {
    let mut store = store(&[], 1);
    let asked = vec![Asked::Create("a".to_owned()), Asked::Delete("b".to_owned())];
    let mut group = group(asked, false, &store);
    let faults = [StoreFault::Nothing, StoreFault::Nothing, StoreFault::SentTwice];
    run(&mut group, None, &mut store, &faults);
    let outcomes = group.outcomes();
    assert!(matches!(
        outcomes.as_slice(),
        [Ok(OperationOutcome::InTheWay(_)), Ok(OperationOutcome::Missing)]
    ));
}
