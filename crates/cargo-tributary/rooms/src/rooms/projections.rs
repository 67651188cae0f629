//! What the change feed keeps true: the bookings of a person, their number, and the names of rooms.

use tributary_functions::{
    cosmos::{Container, Query, StoreError},
    projection::{
        Effect, Origin, Projection, VersionedCopy,
        aggregate::{Aggregate, Contribution},
        copies::Copies,
        fan_out::{FanOut, Update, repair},
    },
    values::may_be_rewritten_by_host,
};

use super::{Booking, Room, RoomsItem, Stores, model::Renaming};

impl RoomsItem {
    /// Returns the booking that this is of, also as a tombstone.
    fn booking(&self) -> Option<&Booking> {
        match self {
            Self::Booking(booking) | Self::CancelledBooking(booking) => Some(booking),
            Self::Room(_) | Self::Renaming(_) => None,
        }
    }

    fn booking_origin(&self) -> Option<Origin> {
        let Booking { public, version, .. } = self.booking()?;
        Some(Origin::new(public.room_id.as_str(), public.id.as_str(), *version))
    }
}

/// The bookings, in the partitions of their people.
pub struct BookingCopies(pub Stores);

impl Copies for BookingCopies {
    const FUNCTION: &'static str = "BookingCopies";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;
    type Copy = RoomsItem;

    fn sources(&self) -> &Container {
        &self.0.rooms
    }

    fn copies(&self) -> &Container {
        &self.0.people
    }

    fn origin(change: &RoomsItem) -> Option<Origin> {
        change.booking_origin()
    }

    fn copies_of(change: &RoomsItem) -> Vec<VersionedCopy<RoomsItem>> {
        let copy = |Booking { public, version, .. }: &Booking| VersionedCopy {
            partition: public.person_id.to_string(),
            id: public.id.to_string(),
            version: *version,
            item: change.clone(),
        };
        change.booking().map(copy).into_iter().collect()
    }

    fn may_be_rewritten(change: &RoomsItem) -> bool {
        let name = change.booking().map(|booking| booking.room_name.as_str());
        name.is_some_and(may_be_rewritten_by_host)
    }
}

/// The numbers of bookings, by person.
#[derive(Clone)]
pub struct BookingCounts(pub Stores);

impl Aggregate for BookingCounts {
    const FUNCTION: &'static str = "BookingCounts";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;

    fn sources(&self) -> &Container {
        &self.0.rooms
    }

    fn totals(&self) -> &Container {
        &self.0.counts
    }

    fn origin(change: &RoomsItem) -> Option<Origin> {
        change.booking_origin()
    }

    fn contribution(change: &RoomsItem) -> Option<Contribution> {
        let RoomsItem::Booking(booking) = change else { return None };
        Some(Contribution::new(booking.public.person_id.as_str(), 1))
    }
}

/// The names of rooms, in the copies of their bookings. The version of a name is that of a source.
pub struct RoomNames(pub Stores);

impl FanOut for RoomNames {
    const FUNCTION: &'static str = "RoomNames";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;
    type Source = Room;
    type Target = RoomsItem;

    fn sources(&self) -> &Container {
        &self.0.rooms
    }

    fn targets(&self) -> &Container {
        &self.0.people
    }

    fn origin(change: &RoomsItem) -> Option<Origin> {
        let (room_id, version) = match change {
            RoomsItem::Room(room) => (&room.public.room_id, room.name_version),
            RoomsItem::Renaming(renaming) => (&renaming.room_id, renaming.name_version),
            RoomsItem::Booking(_) | RoomsItem::CancelledBooking(_) => return None,
        };
        Some(Origin::new(room_id.as_str(), room_id.as_str(), version))
    }

    fn source(item: RoomsItem) -> Option<Room> {
        item.try_into().ok()
    }

    fn outdated(room: &Room) -> Result<Query, StoreError> {
        let text = "SELECT * FROM c WHERE c.roomId = @room AND c.nameVersion < @version";
        let query = Query::from(text).with_parameter("@room", &room.public.room_id)?;
        Ok(query.with_parameter("@version", room.name_version)?)
    }

    fn update(target: &RoomsItem, room: &Room) -> Option<Update<RoomsItem>> {
        let RoomsItem::Booking(booking) = target else { return None };
        let (person, id) = (booking.public.person_id.as_str(), booking.public.id.as_str());
        let is_of_room = booking.public.room_id == room.public.room_id;
        let is_older = is_of_room && booking.name_version < room.name_version;
        is_older.then(|| Update::new(person, id, RoomsItem::Booking(booking.named(room))))
    }

    fn continuation(room: &Room) -> (String, RoomsItem) {
        (Renaming::ID.to_owned(), RoomsItem::Renaming(Renaming::of(room)))
    }
}

/// Repairs the names in copies that were written during a rename.
pub struct CopiedNames(pub RoomNames);

impl Projection for CopiedNames {
    const FUNCTION: &'static str = "CopiedNames";
    const PARTITION_KEY: &'static str = "personId";
    type Change = RoomsItem;

    fn container(&self) -> &Container {
        self.0.targets()
    }

    fn source(change: &RoomsItem) -> Option<(String, u64)> {
        let Booking { public, version, .. } = change.booking()?;
        Some((format!("{} {}", public.person_id, public.id), *version))
    }

    async fn apply(&self, change: &RoomsItem) -> Result<Effect, StoreError> {
        let RoomsItem::Booking(Booking { public, name_version, .. }) = change else {
            return Ok(Effect::Unchanged);
        };
        let (room, person) = (public.room_id.as_str(), public.person_id.as_str());
        repair(&self.0, (room, room), *name_version, (person, public.id.as_str())).await
    }
}
