//! The functions over HTTP.

use axum::{
    Json,
    extract::{RawQuery, State},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tributary_functions::{
    cosmos::{Attempt, Query, Reads, Scope, StoreError, Stored, confirm, retry},
    engines::{
        child_list::{ChildList, DateRange, FirstType, ListOrder, SortKey},
        counted_children::{CreateOutcome, DeleteOutcome, EditOutcome, FamilyRequest},
        idempotency::IdempotencyKey,
    },
    http::{
        self, Actor, ApiError,
        AuthLevel::{Anonymous, Function, Owner},
        Conditions, Form, FromForm, HttpFunction, ItemResponse, JsonBody, List, PageRequest,
        Params, QueryParameter, StoredItems, delete, get, parameter_of, post, put,
    },
    projection::aggregate::totals,
    values::{CommandId, Invalid, Timestamp, fresh_id},
};

use super::{
    BookingId, PersonId, PublicBooking, Room, RoomId, RoomName, RoomsItem, Stores,
    model::PublicRoom,
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

impl Stores {
    async fn room(&self, id: &RoomId, reads: Reads) -> Result<Option<Stored<Room>>, StoreError> {
        let stored = self.rooms.reading(reads).read::<RoomsItem>(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(Stored::of_type))
    }
}

impl FromForm for RoomName {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("name", Self::parse)
    }
}

/// Creates a room or gives it another name: two store requests.
async fn put_room(
    State(rooms): State<Stores>,
    Params(id): Params<RoomId>,
    command: CommandId,
    JsonBody(name): JsonBody<RoomName>,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let Some(stored) = rooms.room(&id, reads).await? else {
            let room = Room::new(id.clone(), name.clone());
            let public = room.public.clone();
            let etag = rooms.rooms.create(id.as_str(), id.as_str(), &RoomsItem::Room(room)).await?;
            return Ok(http::item(StatusCode::CREATED, &public, &etag));
        };
        if stored.item.public.name == name {
            reads.confirmed()?;
            return Ok(http::item(StatusCode::OK, &stored.item.public, &stored.etag));
        }
        let request = FamilyRequest::new(&command, reads).with_parent(stored);
        match rooms.bookings.edit(&id, name.clone(), request).await? {
            EditOutcome::Edited(room) => {
                Ok(http::item(StatusCode::OK, &room.item.public, &room.etag))
            }
            EditOutcome::NoParent => Err(ApiError::NotFound("room")),
        }
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
        let room = rooms.room(&id, reads).await?.ok_or(ApiError::NotFound("room"))?;
        Ok(http::found(&conditions, &room.item.public, &room.etag))
    })
    .await
}

struct NewBooking(PersonId, Timestamp, Timestamp);

/// Returns an example: a booking ends after it begins.
fn new_booking() -> Value {
    json!({
        "personId": "ann", "startsAt": "2099-01-01T09:00:00Z", "endsAt": "2099-01-01T10:00:00Z",
    })
}

impl FromForm for NewBooking {
    fn from_form(form: &mut Form) -> Option<Self> {
        let moment = |text: String| Timestamp::parse(&text);
        let person_id = form.text("personId", PersonId::parse);
        let starts_at = form.text("startsAt", moment);
        let ends_at = form.text("endsAt", moment);
        Some(Self(person_id?, starts_at?, ends_at?))
    }
}

/// Books a room for a person, unless it is booked at this time: two store requests.
async fn create_booking(
    State(rooms): State<Stores>,
    actor: Actor,
    Params(room_id): Params<RoomId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(NewBooking(person_id, starts_at, ends_at)): JsonBody<NewBooking>,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    actor.must_be(person_id.as_str())?;
    if starts_at >= ends_at || ends_at <= Timestamp::now() {
        return Err(ApiError::invalid("endsAt", "must be after `startsAt`, and in the future"));
    }
    let id = key.map(|key| key.derived_id(&format!("booking {room_id} {person_id}")));
    let id = BookingId::parse(id.unwrap_or_else(fresh_id)).map_err(|_| ApiError::Internal)?;
    let location = format!("/api/rooms/{room_id}/bookings/{id}");
    let booking = PublicBooking { id, room_id: room_id.clone(), person_id, starts_at, ends_at };
    retry(async |Attempt { reads, .. }| {
        let request = FamilyRequest::new(&command, reads);
        match rooms.bookings.create(&room_id, booking.clone(), request).await? {
            CreateOutcome::Created(etag) => Ok(http::created(&location, &booking, &etag)),
            // By an earlier attempt, or by an earlier request with this key.
            CreateOutcome::Exists(Stored { item, etag }) if item == booking => {
                Ok(http::created(&location, &booking, &etag))
            }
            CreateOutcome::Exists(_) | CreateOutcome::Deleted => Err(ApiError::Conflict(
                "This Idempotency-Key was used for another booking. Use another key.",
            )),
            CreateOutcome::Refused(reason) => Err(ApiError::Conflict(reason)),
            CreateOutcome::NoParent => Err(ApiError::NotFound("room")),
        }
    })
    .await
}

/// Cancels a booking and leaves its tombstone: three store requests.
async fn cancel_booking(
    State(rooms): State<Stores>,
    actor: Actor,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let container = rooms.rooms.reading(reads);
        let (booking, etag) = match container.read(room_id.as_str(), id.as_str()).await? {
            Some(Stored { item: RoomsItem::Booking(booking), etag }) => (booking, etag),
            Some(Stored { item: RoomsItem::CancelledBooking(booking), .. })
                if booking.cancelled_by.as_ref() == Some(&command) =>
            {
                return Ok(StatusCode::NO_CONTENT);
            }
            _ => return Err(ApiError::NotFound("booking")),
        };
        actor.must_be(booking.public.person_id.as_str())?;
        let tombstone = RoomsItem::CancelledBooking(booking.cancelled(&command));
        let (child, request) = ((id.clone(), etag), FamilyRequest::new(&command, reads));
        match rooms.bookings.delete_with_tombstone(&room_id, child, tombstone, request).await? {
            DeleteOutcome::Deleted => Ok(StatusCode::NO_CONTENT),
            DeleteOutcome::Missing | DeleteOutcome::NoParent => Err(ApiError::NotFound("booking")),
        }
    })
    .await
}

const BOOKINGS: ChildList = ChildList {
    key: "roomId",
    parent: "room",
    child: "booking",
    first_type: FirstType::Child,
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

/// How many bookings a person has.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BookingCount {
    person_id: PersonId,
    booking_count: i64,
}

/// Returns how many bookings each of some people has: one point read for each.
async fn get_booking_counts(
    State(rooms): State<Stores>,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<BookingCount>>, ApiError> {
    let people = parameter_of(query.as_deref(), "people")?.unwrap_or_default();
    let people = people.split(',').take(101).map(|id| PersonId::parse(id.to_owned()));
    let people: Result<Vec<_>, Invalid> = people.collect();
    let people = people.ok().filter(|people| people.len() <= 100);
    let people = people.ok_or_else(|| ApiError::invalid("people", "must be 1 to 100 ids"))?;
    let counts = totals(&rooms.counts, &people).await?;
    let count = |(person_id, booking_count)| BookingCount { person_id, booking_count };
    Ok(Json(people.into_iter().zip(counts).map(count).collect()))
}
