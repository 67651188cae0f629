//! Bookings, which their room counts. Those of one room that come at once go together.

use axum::{Json, extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, confirm, retry},
    engines::{
        child_list::{ChildList, FirstType, ListOrder, SortKey},
        counted_children::{CreateOutcome, DeleteOutcome, FamilyRequest},
        idempotency::IdempotencyKey,
    },
    http::{self, ApiError, Conditions, ItemResponse, JsonBody, List, PageRequest, Params},
    values::CommandId,
};

use crate::rooms::{
    Booking, BookingId, RoomId, Stores,
    model::{BookingText, PublicBooking},
};

/// Books a room: a repeated request with the same `Idempotency-Key` is answered as the first.
pub(super) async fn create_booking(
    State(stores): State<Stores>,
    Params(room_id): Params<RoomId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(text): JsonBody<BookingText>,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    let id = key.map_or_else(BookingId::fresh, |key| BookingId::from_key(&room_id, &key));
    let booking = Booking::new(&room_id, id, text);
    retry(async |Attempt { reads, .. }| {
        let request = FamilyRequest::new(&command, reads);
        match stores.bookings.create(&room_id, booking.clone(), request).await? {
            CreateOutcome::Created(etag) => Ok(created(&booking.public, &etag)),
            CreateOutcome::Exists(stored) if stored.item.has_text_of(&booking) => {
                Ok(created(&stored.item.public, &stored.etag))
            }
            CreateOutcome::Exists(_) => {
                Err(ApiError::Conflict("This Idempotency-Key was used with another body."))
            }
            CreateOutcome::Deleted => {
                Err(ApiError::Conflict("The booking with this Idempotency-Key was deleted."))
            }
            CreateOutcome::NoParent => Err(ApiError::NotFound("room")),
        }
    })
    .await
}

fn created(booking: &PublicBooking, etag: &ETag) -> ItemResponse<PublicBooking> {
    http::created(&format!("/api/rooms/{}/bookings/{}", booking.room_id, booking.id), booking, etag)
}

const BOOKINGS: ChildList = ChildList {
    key: "roomId",
    parent: "room",
    child: "booking",
    first_type: FirstType::Child,
    types: "c.type IN (@child, @parent)",
    date: "creationDate",
    id_prefix: "",
    shape: "{id: c.id, roomId: c.roomId, personId: c.personId, purpose: c.purpose, \
             creationDate: c.creationDate}",
    order: ListOrder::OldestFirst,
};

/// Returns the bookings of a room, oldest first.
pub(super) async fn list_bookings(
    State(stores): State<Stores>,
    Params(room_id): Params<RoomId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicBooking>>, ApiError> {
    let key = |booking: &PublicBooking| SortKey(booking.creation_date, booking.id.to_string());
    page.of_children(&BOOKINGS, &stores.rooms, room_id.as_str(), key).await
}

/// Returns a booking of a room that exists.
pub(super) async fn get_booking(
    State(stores): State<Stores>,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicBooking>, ApiError> {
    confirm(async |reads| {
        let stores = stores.reading(reads);
        stores.room(&room_id).await?.live().ok_or(ApiError::NotFound("room"))?;
        let booking = stores.booking(&room_id, &id).await?;
        let booking = booking.ok_or(ApiError::NotFound("booking"))?;
        Ok(http::found(&conditions, &booking.item.public, &booking.etag))
    })
    .await
}

pub(super) async fn delete_booking(
    State(stores): State<Stores>,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    // The room is an item of the same partition, under its own id.
    if id.as_str() == room_id.as_str() {
        return Err(ApiError::NotFound("booking"));
    }
    retry(async |Attempt { reads, answer_lost }| {
        let request = FamilyRequest::new(&command, reads);
        match stores.bookings.delete(&room_id, id.clone(), request).await? {
            DeleteOutcome::Deleted => Ok(StatusCode::NO_CONTENT),
            // An earlier attempt has deleted it.
            DeleteOutcome::Missing | DeleteOutcome::NoParent if answer_lost => {
                Ok(StatusCode::NO_CONTENT)
            }
            DeleteOutcome::Missing => Err(ApiError::NotFound("booking")),
            DeleteOutcome::NoParent => Err(ApiError::NotFound("room")),
        }
    })
    .await
}
