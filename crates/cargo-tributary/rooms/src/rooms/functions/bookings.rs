//! Bookings, which their room counts. Those of one room that come at once go together.

use tributary_functions::prelude::*;

use crate::rooms::{
    Booking, BookingId, Room, RoomId, Stores,
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
    let id = new_id(key.as_ref(), &format!("booking {room_id}"))?;
    let booking = Booking::new(&room_id, id, text);
    let is_same = |known: &Booking| known.has_text_of(&booking);
    let created = retry(async |_| {
        let request = FamilyRequest::new(&command);
        stores.bookings.create_once(&room_id, booking.clone(), request, is_same).await
    });
    let Stored { item: Booking { public, .. }, etag } = created.await?;
    Ok(http::created(&format!("/api/rooms/{room_id}/bookings/{}", public.id), &public, &etag))
}

const BOOKINGS: ChildList = ChildList {
    key: "roomId",
    parent: "room",
    child: "booking",
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
    let room = stores.rooms.item::<Room>(&room_id, &room_id).await?;
    room.ok_or(ApiError::NotFound("room"))?;
    let booking = stores.rooms.item::<Booking>(&room_id, &id).await?;
    let booking = booking.ok_or(ApiError::NotFound("booking"))?;
    Ok(http::found(&conditions, &booking.item.public, &booking.etag))
}

pub(super) async fn delete_booking(
    State(stores): State<Stores>,
    Params((room_id, id)): Params<(RoomId, BookingId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let owner: fn(&Booking) -> &str = |booking| booking.public.person_id.as_str();
    command.delete_child(&stores.bookings, (&room_id, id), &Actor::ANY_USER, owner).await
}
