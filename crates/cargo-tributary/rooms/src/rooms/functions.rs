//! The functions over HTTP.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{
    http::{Footprint, limit_of},
    prelude::*,
    projection::{removal::remove_some, window::Window},
};

use super::{
    BookingsOfDeletedRooms, NewestRooms, RoomCopies, Stores,
    model::{
        Booking, BookingId, BookingText, DeletedRoom, Name, Person, PersonId, PublicBooking,
        PublicPerson, PublicRoom, Room, RoomId, RoomText,
    },
};

/// The most bytes of a room as JSON, which takes six for a control character.
const ROOM_BYTES: usize = 3 * 128 + 2 * 100 * 6 + 256;

/// The most bytes of a booking as JSON.
const BOOKING_BYTES: usize = 3 * 128 + 10_000 * 6 + 256;

#[rustfmt::skip]
pub(super) fn table() -> Vec<HttpFunction<Stores>> {
    let rooms    = Footprint::Page { item: ROOM_BYTES, limit: 20 };
    let newest   = Footprint::Page { item: ROOM_BYTES, limit: 10 };
    let bookings = Footprint::Page { item: BOOKING_BYTES, limit: 20 };
    vec![
        put("PutPerson",        "/api/people/{personId}",            Owner,     put_person),
        get("ListRooms",        "/api/people/{personId}/rooms",      Anonymous, list_rooms)
            .answers(rooms).reads_copies_of(&["NamesInRooms", "RoomCopies"]),
        get("GetRoomCount",     "/api/people/{personId}/room-count", Anonymous, get_room_count)
            .reads_copies_of(&["RoomCounts"]),
        put("PutRoom",          "/api/rooms/{roomId}",               Owner,     put_room),
        get("GetRoom",          "/api/rooms/{roomId}",               Anonymous, get_room)
            .reads_copies_of(&["NamesInRooms"]),
        delete("DeleteRoom",    "/api/rooms/{roomId}",               Owner,     delete_room),
        get("GetNewestRooms",   "/api/newest-rooms",                 Anonymous, get_newest_rooms)
            .answers(newest).reads_copies_of(&["NamesInRooms", "NewestRooms"]),
        post("CreateBooking",   "/api/rooms/{roomId}/bookings",      Function,  create_booking),
        get("ListBookings",     "/api/rooms/{roomId}/bookings",      Anonymous, list_bookings)
            .answers(bookings),
        get("GetBooking",       BOOKING,                             Anonymous, get_booking),
        delete("DeleteBooking", BOOKING,                             Function,  delete_booking),
    ]
}

const BOOKING: &str = "/api/rooms/{roomId}/bookings/{bookingId}";

/// The number of rooms of a person.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoomCount {
    person_id: PersonId,
    room_count: i64,
}

async fn put_person(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<PersonId>,
    conditions: Conditions,
    JsonBody(Name(name)): JsonBody<Name>,
) -> Result<ItemResponse<PublicPerson>, ApiError> {
    actor.must_be(id.as_str())?;
    retry(async |_| {
        let (before, etag) = stores.person(&id).await?.map(|it| (it.item, it.etag)).unzip();
        conditions.check(etag.as_ref())?;
        let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let person = Person::new(id.clone(), name.clone(), before.as_ref());
        let Stored { item, etag } = stores.people.save(person, etag.as_ref()).await?;
        Ok(http::item(status, &item.public(), &etag))
    })
    .await
}

const ROOMS: ChildList = ChildList {
    key: "personId",
    parent: "person",
    child: "room",
    types: "c.type IN (@child, @parent)",
    date: "creationDate",
    id_prefix: "room:",
    shape: "{id: c.roomId, roomId: c.roomId, personId: c.personId, personName: c.personName, \
             title: c.title, bookingCount: c.bookingCount, creationDate: c.creationDate}",
    order: ListOrder::NewestFirst,
};

/// Returns the copies of a person's rooms, newest first.
async fn list_rooms(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicRoom>>, ApiError> {
    let key = |room: &PublicRoom| SortKey(room.creation_date, RoomCopies::id(&room.room_id));
    page.of_children(&ROOMS, &stores.people, id.as_str(), key).await
}

async fn get_room_count(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
) -> Result<Json<RoomCount>, ApiError> {
    let room_count = aggregate::total(&stores.counts, id.as_str()).await?;
    Ok(Json(RoomCount { person_id: id, room_count }))
}

async fn put_room(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<RoomId>,
    command: ItemCommand,
    JsonBody(text): JsonBody<RoomText>,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    let RoomText { person_id, title } = text;
    actor.must_be(person_id.as_str())?;
    let edit = |room: &Room| {
        if room.person_id != person_id {
            return Err(ApiError::Conflict(
                "This room belongs to another person. Choose another id.",
            ));
        }
        Ok((room.title != title).then(|| room.retitled(&title)))
    };
    let create = async |before: Option<DeletedRoom>| {
        let person = stores.person(&person_id).await?;
        let person = person.ok_or(ApiError::NotFound("person"))?.item;
        let bookings = BookingsOfDeletedRooms(stores.rooms.clone());
        if let Some(before) = &before
            && !remove_some(&bookings, before).await?
        {
            return Err(ApiError::Conflict(
                "The bookings of the deleted room are still being removed. Retry later.",
            ));
        }
        let room = Room::new(id.clone(), &title, &person, before.as_ref(), &command.id);
        room.ok_or(ApiError::Conflict(
            "Rooms with this id had too many owners in the last 30 days. Choose another id.",
        ))
    };
    command.put_item(&stores.rooms, (&id, &id), edit, create).await
}

async fn get_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    conditions.found(stores.rooms.item::<Room>(&id, &id).await?)
}

async fn delete_room(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<RoomId>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let tombstone = |room: &Room| {
        actor.must_be(room.person_id.as_str())?;
        Ok(room.tombstone())
    };
    command.delete_item(&stores.rooms, (&id, &id), tombstone).await
}

/// Returns the newest rooms: the head of the window and its tombstones have no creation date.
async fn get_newest_rooms(
    State(stores): State<Stores>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<PublicRoom>, ApiError> {
    let limit = limit_of(query.as_deref(), NewestRooms::CAPACITY)?;
    let query = Query::from(format!(
        "SELECT TOP @limit {} FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
        PublicRoom::SELECT
    ));
    let query = query.with_parameter("@limit", limit)?;
    let scope = Scope::Partition(NewestRooms::PARTITION);
    Ok(stores.newest.query(query, scope, limit).await?.into())
}

/// Books a room: a repeated request with the same `Idempotency-Key` is answered as the first.
async fn create_booking(
    State(stores): State<Stores>,
    Params(room_id): Params<RoomId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(text): JsonBody<BookingText>,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    let id = new_id(key.as_ref(), &format!("booking {room_id}"))?;
    let booking = Booking::new(room_id.clone(), id, text);
    let is_same =
        |known: &Booking| known.person_id == booking.person_id && known.purpose == booking.purpose;
    let created = retry(async |_| {
        let request = FamilyRequest::new(&command);
        stores.bookings.create_once(&room_id, booking.clone(), request, is_same).await
    });
    let Stored { item, etag } = created.await?;
    let location = format!("/api/rooms/{room_id}/bookings/{}", item.id);
    Ok(http::created(&location, &item.public(), &etag))
}

const BOOKINGS: ChildList = ChildList {
    key: "roomId",
    parent: "room",
    child: "booking",
    types: "c.type IN (@child, @parent)",
    date: "creationDate",
    id_prefix: "",
    shape: PublicBooking::SHAPE,
    order: ListOrder::OldestFirst,
};

/// Returns the bookings of a room, oldest first.
async fn list_bookings(
    State(stores): State<Stores>,
    Params(room_id): Params<RoomId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicBooking>>, ApiError> {
    let key = |booking: &PublicBooking| SortKey(booking.creation_date, booking.id.to_string());
    page.of_children(&BOOKINGS, &stores.rooms, room_id.as_str(), key).await
}

/// Returns a booking of a room that exists.
async fn get_booking(
    State(stores): State<Stores>,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    let room = stores.rooms.item::<Room>(&room_id, &room_id).await?;
    room.ok_or(ApiError::NotFound("room"))?;
    conditions.found(stores.rooms.item::<Booking>(&room_id, &id).await?)
}

async fn delete_booking(
    State(stores): State<Stores>,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let owner: fn(&Booking) -> &str = |booking| booking.person_id.as_str();
    command.delete_child(&stores.bookings, (&room_id, id), &Actor::ANY_USER, owner).await
}
