//! The functions over HTTP.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};
use tributary_functions::prelude::*;

use super::{
    Stores,
    model::{Booking, BookingId, PersonId, PublicBooking, PublicRoom, Room, RoomId, RoomName},
};

const PEOPLE: &[QueryParameter] =
    &[QueryParameter::new("people", "The ids of at most 100 people, separated by commas.")
        .example("ann,bob")];

#[rustfmt::skip]
pub(super) fn all() -> Vec<HttpFunction<Stores>> {
    vec![
        put("PutRoom",          "/api/rooms/{roomId}",                      Function,  put_room),
        get("GetRoom",          "/api/rooms/{roomId}",                      Anonymous, get_room),
        post("CreateBooking",   "/api/rooms/{roomId}/bookings",             Owner,     create_booking).example(new_booking),
        get("ListBookings",     "/api/rooms/{roomId}/bookings",             Function,  list_bookings),
        delete("CancelBooking", "/api/rooms/{roomId}/bookings/{bookingId}", Owner,     cancel_booking),
        get("GetAgenda",        "/api/people/{personId}/agenda",            Owner,     get_agenda),
        get("GetBookingCounts", "/api/booking-counts",                      Function,  get_booking_counts).reads(PEOPLE),
    ]
}

from_form!(RoomName: text("name", RoomName::parse));

/// Creates a room or gives it another name: two store requests.
async fn put_room(
    State(rooms): State<Stores>,
    Params(id): Params<RoomId>,
    command: ItemCommand,
    JsonBody(name): JsonBody<RoomName>,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    let wanted = command.sign(Room::new(id.clone(), name.clone()));
    retry(async |attempt: Attempt| {
        let put = command.put_parent(&rooms.bookings, &id, (&wanted, name.clone()), attempt);
        let written = put.await?;
        Ok(written.answer(&written.stored.item.public, |_| format!("/api/rooms/{id}")))
    })
    .await
}

/// Returns a room: one point read.
async fn get_room(
    State(rooms): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    confirm(async |reads| {
        let room = rooms.bookings.parent(&id, reads).await?.ok_or(ApiError::NotFound("room"))?;
        Ok(http::found(&conditions, &room.item.public, &room.etag))
    })
    .await
}

from_form!(
    struct NewBooking {
        person_id: PersonId = text("personId", PersonId::parse),
        starts_at: Timestamp = moment("startsAt"),
        ends_at: Timestamp = moment("endsAt"),
    }
);

/// Returns an example: a booking ends after it begins.
fn new_booking() -> Value {
    json!({
        "personId": "ann", "startsAt": "2099-01-01T09:00:00Z", "endsAt": "2099-01-01T10:00:00Z",
    })
}

/// Books a room for a person, unless it is booked at this time: two store requests.
async fn create_booking(
    State(rooms): State<Stores>,
    actor: Actor,
    Params(room_id): Params<RoomId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(NewBooking { person_id, starts_at, ends_at }): JsonBody<NewBooking>,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    actor.must_be(person_id.as_str())?;
    if starts_at >= ends_at || ends_at <= Timestamp::now() {
        return Err(ApiError::invalid("endsAt", "must be after `startsAt`, and in the future"));
    }
    let id = new_id(key.as_ref(), &format!("booking {room_id} {person_id}"))?;
    let public = PublicBooking { id, room_id: room_id.clone(), person_id, starts_at, ends_at };
    let created = retry(async |Attempt { reads, .. }| {
        let (new, request) = (Booking::new(public.clone()), FamilyRequest::new(&command, reads));
        let is_same = |known: &Booking| known.public == public;
        rooms.bookings.create_once(&room_id, new, request, is_same).await
    });
    let Stored { item, etag } = created.await?;
    Ok(http::created(&format!("/api/rooms/{room_id}/bookings/{}", public.id), &item.public, &etag))
}

/// Cancels a booking and leaves its tombstone: three store requests.
async fn cancel_booking(
    State(rooms): State<Stores>,
    actor: Actor,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let owner: fn(&Booking) -> &str = |booking| booking.public.person_id.as_str();
    command.delete_child(&rooms.bookings, (&room_id, id), &actor, owner).await
}

const BOOKINGS: ChildList = ChildList {
    key: "roomId",
    parent: "room",
    child: "booking",
    types: "c.type IN (@child, @parent)",
    date: "startsAt",
    id_prefix: "",
    shape: "{id: c.id, roomId: c.roomId, personId: c.personId, startsAt: c.startsAt, \
             endsAt: c.endsAt}",
    order: ListOrder::OldestFirst,
};

/// Returns a page of a room's bookings that begin in a range of dates: one query in its partition.
async fn list_bookings(
    State(rooms): State<Stores>,
    Params(id): Params<RoomId>,
    page: PageRequest<SortKey, DateRange>,
) -> Result<Json<List<PublicBooking>>, ApiError> {
    let key = |booking: &PublicBooking| SortKey(booking.starts_at, booking.id.to_string());
    page.of_children(&BOOKINGS, &rooms.rooms, id.as_str(), key).await
}

/// A booking with the name of its room.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the store's items are handed through")]
struct AgendaItem {
    #[serde(flatten)]
    booking: PublicBooking,
    room_name: RoomName,
}

/// Returns the next 100 bookings of a person: one query in the person's partition.
async fn get_agenda(
    State(rooms): State<Stores>,
    actor: Actor,
    Params(id): Params<PersonId>,
) -> Result<StoredItems<AgendaItem>, ApiError> {
    actor.must_be(id.as_str())?;
    let query = Query::from(
        "SELECT TOP 100 c.id, c.roomId, c.roomName, c.personId, c.startsAt, c.endsAt FROM c \
         WHERE c.personId = @person AND c.type = 'booking' AND c.endsAt > @now \
         ORDER BY c.personId ASC, c.type ASC, c.endsAt ASC",
    );
    let query = query.with_parameter("@person", &id)?.with_parameter("@now", Timestamp::now())?;
    Ok(rooms.people.query(query, Scope::Partition(id.as_str()), 100).await?.into())
}

/// Returns how many bookings each of some people has: one point read for each.
async fn get_booking_counts(
    State(rooms): State<Stores>,
    RawQuery(query): RawQuery,
) -> Result<Json<BTreeMap<PersonId, i64>>, ApiError> {
    let people: Vec<PersonId> = values_of(query.as_deref(), "people", 100)?;
    let counts = aggregate::totals(&rooms.counts, &people).await?;
    Ok(Json(people.into_iter().zip(counts).collect()))
}
