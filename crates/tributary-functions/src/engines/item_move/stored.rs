//! Items that move, as they are stored, and the tombstones that they leave.

use std::fmt::{Debug, Display};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};

use crate::{
    engines::{
        idempotency::{RecentCommands, RemembersCommands},
        relocation::{CopyState, Relocatable},
    },
    values::{CommandId, Timestamp},
};

/// The time to live of a tombstone, and of a copy that was brought to a colder container, in seconds: a
/// day.
///
/// No request and no run takes that long, so none writes after it what it has decided on an older state.
const TOMBSTONE_TTL_SECONDS: i64 = 24 * 60 * 60;

/// The time to live of an item that stays until it is deleted, whatever the container's default.
const FOR_EVER: i64 = -1;

/// The containers of a domain, from the hottest to the coldest: an enum in this order.
pub trait Tier: Copy + Ord + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// All tiers, from the hottest.
    const ALL: &'static [Self];

    /// Returns the tier that items go to from this one.
    fn colder(self) -> Option<Self> {
        Self::ALL.iter().copied().find(|tier| *tier > self)
    }

    /// Returns the tier that items come from into this one.
    fn hotter(self) -> Option<Self> {
        Self::ALL.iter().rev().copied().find(|tier| *tier < self)
    }
}

/// The place of an item: a container, and a logical partition in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Tier, K: Serialize + DeserializeOwned")]
pub struct ItemPlace<T, K> {
    /// The container.
    #[serde(rename = "store")]
    pub tier: T,
    /// The logical partition.
    pub partition_key: K,
}

/// The content of an item that moves, as a domain describes it. It has the properties `id` and
/// `partitionKey`.
pub trait Content:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The type of an item, as the property `type` has it.
    const TYPE: &'static str;
    /// The property with the date that decides the place of an item.
    const DATE: &'static str;
    /// The containers.
    type Tier: Tier;
    /// The partition key.
    type Key: AsRef<str>
        + Clone
        + Debug
        + Display
        + Ord
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;
    /// Properties that are stored beside the content, for queries; `()` where there are none.
    type Derived: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// Returns the id of the item, the same in each place.
    fn id(&self) -> &str;

    /// Returns the partition key.
    fn partition_key(&self) -> &Self::Key;

    /// Returns the properties that follow from the content.
    fn derived(&self) -> Self::Derived;
}

/// A place of an item with this content.
pub type ItemPlaceOf<C> = ItemPlace<<C as Content>::Tier, <C as Content>::Key>;

/// An item that moves, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "C: Content")]
pub struct MovableItem<C: Content> {
    /// The part that readers see.
    #[serde(flatten)]
    pub public: C,
    #[serde(flatten)]
    derived: C::Derived,
    /// The state of this copy.
    pub state: CopyState,
    /// The version, which each write of a command raises.
    pub version: u64,
    /// The command that created the item.
    pub created_by: CommandId,
    /// The commands that were lately carried out on the item.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    recent: RecentCommands,
    /// The move that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Box<ItemDeparture<C>>>,
    /// The last move that brought the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_from: Option<Arrival<C>>,
    /// Seconds until the store deletes the item; -1 is never. An item that is in no colder container has
    /// -1, since the default of a container would delete it.
    ttl: i64,
}

/// A move that has brought an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "C: Content")]
pub struct Arrival<C: Content> {
    /// The place that the item has come from. The departing item may still be there.
    #[serde(flatten)]
    pub place: ItemPlaceOf<C>,
    /// The version of the arrival, which the location has, too, when the move has ended.
    pub version: u64,
}

/// A move to another place that has begun, with the edit that caused it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "C: Content")]
pub struct ItemDeparture<C: Content> {
    /// The new place.
    pub to: ItemPlaceOf<C>,
    /// The content of the item in its new place.
    pub item: C,
    /// The command that moves it.
    pub command: CommandId,
}

/// The tombstone of an item that has moved on: a late copy of the item is refused. A place that is
/// reserved for an item has a tombstone, too, with a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vacated<K> {
    /// The id of the item.
    pub id: String,
    /// The partition key.
    pub partition_key: K,
    /// The logical partition that the item went to.
    pub moved_to: K,
    /// The move that the place is reserved for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    ttl: i64,
}

/// The reservation of a place for a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// The command that moves the item.
    pub command: CommandId,
    /// True if the place was taken before, by an item or a tombstone that kept late copies out.
    pub was_taken: bool,
}

/// The location of an item: it names the item's place. Each location has a logical partition of its own,
/// so that no partition grows with the number of items.
///
/// The location is written before the item. If the item does not follow, its creation was not
/// acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "C: Content")]
pub struct Location<C: Content> {
    /// The id of the item.
    pub id: String,
    /// The partition key: the id.
    pub partition_key: String,
    /// The place where the item was created, or that it has moved to. Relocations do not change it.
    pub place: ItemPlaceOf<C>,
    /// The version of the item's arrival there.
    pub version: u64,
}

/// The type of a tombstone, as the property `type` has it.
const VACATED: &str = "vacated";

/// The content of a place under the id of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum MovableSlot<C: Content> {
    /// An item.
    Item(Box<MovableItem<C>>),
    /// The tombstone of an item that has moved to another place, or is about to move here.
    Vacated(Vacated<C::Key>),
}

impl<C: Content> MovableSlot<C> {
    /// Returns the item, unless this is a tombstone.
    pub fn item(&self) -> Option<&MovableItem<C>> {
        if let Self::Item(item) = self { Some(item) } else { None }
    }

    /// Returns the item, unless this is a tombstone.
    pub fn into_item(self) -> Option<MovableItem<C>> {
        if let Self::Item(item) = self { Some(*item) } else { None }
    }

    /// Returns the item, unless this is a tombstone or a carried copy.
    pub fn current(self) -> Option<MovableItem<C>> {
        self.into_item().filter(|item| item.state != CopyState::Carried)
    }
}

impl<C: Content> From<MovableItem<C>> for MovableSlot<C> {
    fn from(item: MovableItem<C>) -> Self {
        Self::Item(Box::new(item))
    }
}

impl<C: Content> Relocatable for MovableSlot<C> {
    fn copy(&self) -> Option<(CopyState, u64)> {
        self.item().map(|item| (item.state, item.version))
    }

    fn carried(&self) -> Self {
        let Some(item) = self.item().cloned() else { return self.clone() };
        MovableItem { state: CopyState::Carried, ttl: TOMBSTONE_TTL_SECONDS, ..item }.into()
    }
}

/// An item with its type.
#[derive(Serialize, Deserialize)]
struct Typed<N, T> {
    #[serde(rename = "type")]
    name: N,
    #[serde(flatten)]
    item: T,
}

impl<C: Content> Serialize for MovableSlot<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Item(item) => Typed { name: C::TYPE, item }.serialize(serializer),
            Self::Vacated(item) => Typed { name: VACATED, item }.serialize(serializer),
        }
    }
}

impl<'de, C: Content> Deserialize<'de> for MovableSlot<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Typed { name, item } = Typed::<String, Map<String, Value>>::deserialize(deserializer)?;
        let item = Value::Object(item);
        let slot = if name == C::TYPE {
            serde_json::from_value(item).map(Self::Item)
        } else if name == VACATED {
            serde_json::from_value(item).map(Self::Vacated)
        } else {
            Err(serde_json::Error::custom("is of another type"))
        };
        slot.map_err(D::Error::custom)
    }
}

impl<C: Content> MovableItem<C> {
    /// Creates an item.
    pub fn new(public: C, created_by: CommandId) -> Self {
        Self {
            derived: public.derived(),
            public,
            state: CopyState::Live,
            version: 1,
            created_by,
            recent: RecentCommands::default(),
            departure: None,
            arrived_from: None,
            ttl: FOR_EVER,
        }
    }

    /// Returns the item after an edit by a command.
    pub fn edited(&self, public: C, command: &CommandId) -> Self {
        let derived = public.derived();
        let mut item = Self { public, derived, version: self.version + 1, ..self.clone() };
        item.recent.remember([command.clone()], Timestamp::now());
        item
    }

    /// Returns the item that is about to move.
    pub(super) fn departing(&self, departure: ItemDeparture<C>) -> Self {
        Self { state: CopyState::Departing, departure: Some(Box::new(departure)), ..self.clone() }
    }

    /// Returns the item in its new place.
    pub(super) fn arrived(&self, departure: &ItemDeparture<C>, from: ItemPlaceOf<C>) -> Self {
        let arrival = Arrival { place: from, version: self.version + 1 };
        let item = Self { arrived_from: Some(arrival), ..self.staying() };
        item.edited(departure.item.clone(), &departure.command)
    }

    /// Returns the item without the move that has begun.
    pub(super) fn staying(&self) -> Self {
        Self { state: CopyState::Live, departure: None, ..self.clone() }
    }

    /// Returns true if the store will delete this copy.
    pub fn expires(&self) -> bool {
        self.ttl != FOR_EVER
    }

    /// Returns the item without a time to live, from a copy that the store would delete.
    pub fn kept(&self) -> Self {
        let state = if self.departure.is_some() { CopyState::Departing } else { CopyState::Live };
        Self { state, ttl: FOR_EVER, ..self.clone() }
    }

    /// Returns the tombstone that the item leaves in the place from which it moves.
    pub fn vacated(&self, to: &C::Key) -> Vacated<C::Key> {
        Vacated::new(self.public.id(), self.public.partition_key().clone(), to.clone())
    }
}

impl<C: Content> RemembersCommands for MovableItem<C> {
    fn recent(&self) -> &RecentCommands {
        &self.recent
    }

    fn recent_mut(&mut self) -> &mut RecentCommands {
        &mut self.recent
    }

    fn knows(&self, command: &CommandId) -> bool {
        self.created_by == *command || self.recent.knows(command)
    }
}

impl<K> Vacated<K> {
    /// Creates the tombstone of an item that moves.
    pub fn new(id: &str, partition_key: K, moved_to: K) -> Self {
        let id = id.to_owned();
        Self { id, partition_key, moved_to, reservation: None, ttl: TOMBSTONE_TTL_SECONDS }
    }

    /// Returns the tombstone with this reservation, or without any.
    pub(super) fn with_reservation(self, reservation: Option<Reservation>) -> Self {
        Self { reservation, ..self }
    }

    /// Returns true if the place is reserved for a move.
    pub(super) fn is_reserved_for<C: Content>(&self, departure: &ItemDeparture<C>) -> bool {
        self.reservation.as_ref().is_some_and(|it| it.command == departure.command)
    }
}
