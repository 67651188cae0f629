//! The projections: the bookings of a person, their number, and the names of rooms.

use tributary_functions::prelude::*;

use super::model::{PeopleItem, Room, RoomsItem};

/// Bookings are the sources of copies and counts.
impl ChangeFeedItem for RoomsItem {
    const PARTITION_KEY: &'static str = "roomId";

    fn origin(&self) -> Option<Origin> {
        let (Self::Booking(it) | Self::CancelledBooking(it)) = self else { return None };
        Some(Origin::new(&it.public.room_id, &it.public.id, it.version))
    }
}

impl ChangeFeedItem for PeopleItem {
    const PARTITION_KEY: &'static str = "personId";

    fn origin(&self) -> Option<Origin> {
        let (Self::Booking(it) | Self::CancelledBooking(it)) = self;
        Some(Origin::new(&it.public.person_id, &it.public.id, it.version))
    }
}

/// The bookings, in the partitions of their people.
pub struct BookingCopies;

impl Copies for BookingCopies {
    const FUNCTION: &'static str = "BookingCopies";
    type Change = RoomsItem;
    type Copy = PeopleItem;

    fn copies_of(change: &RoomsItem) -> Vec<VersionedCopy<PeopleItem>> {
        let copy = match change {
            RoomsItem::Booking(booking) => PeopleItem::Booking(booking.clone()),
            RoomsItem::CancelledBooking(it) => PeopleItem::CancelledBooking(it.clone()),
            RoomsItem::Room(_) | RoomsItem::Renaming(_) => return Vec::new(),
        };
        VersionedCopy::from_item(copy).into_iter().collect()
    }

    fn may_be_rewritten(change: &RoomsItem) -> bool {
        let RoomsItem::Booking(booking) = change else { return false };
        booking.room_name.as_ref().is_some_and(|name| may_be_rewritten_by_host(name.as_str()))
    }
}

/// The numbers of bookings, by person.
pub struct BookingCounts;

impl Aggregate for BookingCounts {
    const FUNCTION: &'static str = "BookingCounts";
    type Change = RoomsItem;

    fn contribution(change: &RoomsItem) -> Option<Contribution> {
        let RoomsItem::Booking(booking) = change else { return None };
        Some(Contribution::new(booking.public.person_id.as_str(), 1))
    }
}

/// The names of rooms, in the copies of their bookings. The version of a name is that of a source.
pub struct RoomNames;

impl FanOut for RoomNames {
    const FUNCTION: &'static str = "RoomNames";
    type Change = RoomsItem;
    type Source = Room;
    type Target = PeopleItem;

    fn origin(change: &RoomsItem) -> Option<Origin> {
        match change {
            RoomsItem::Room(room) => Some(Origin::root(&room.public.room_id, room.name_version)),
            RoomsItem::Renaming(continuation) => Some(continuation.origin()),
            RoomsItem::Booking(_) | RoomsItem::CancelledBooking(_) => None,
        }
    }

    fn outdated(room: &Room) -> Result<Query, StoreError> {
        fan_out::older_copies(("roomId", "nameVersion"), &room.public.room_id, room.name_version)
    }

    fn update(target: &PeopleItem, room: &Room) -> Option<Update<PeopleItem>> {
        let PeopleItem::Booking(booking) = target else { return None };
        let is_of_room = booking.public.room_id == room.public.room_id;
        let is_older = is_of_room && booking.name_version < room.name_version;
        is_older.then(|| Update::from_item(PeopleItem::Booking(booking.named(room)))).flatten()
    }
}

/// The names in copies that were written during a rename.
impl Repairs for RoomNames {
    const REPAIRS: &'static str = "CopiedNames";

    fn copied(target: &PeopleItem) -> Option<Origin> {
        let PeopleItem::Booking(booking) = target else { return None };
        Some(Origin::root(&booking.public.room_id, booking.name_version))
    }
}
