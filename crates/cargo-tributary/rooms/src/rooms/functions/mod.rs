//! The functions over HTTP.

mod bookings;
mod people;
mod rooms;

use tributary_functions::http::{
    AuthLevel::Anonymous, AuthLevel::Function, AuthLevel::Owner, Footprint, HttpFunction, delete,
    get, post, put,
};

use self::{
    bookings::{create_booking, delete_booking, get_booking, list_bookings},
    people::{get_room_count, list_rooms, put_person},
    rooms::{delete_room, get_newest_rooms, get_room, put_room},
};
use super::Stores;

/// The most bytes of a room as JSON, which takes six for a control character.
const ROOM_BYTES: usize = 3 * 128 + 2 * 100 * 6 + 256;

/// The most bytes of a booking as JSON.
const BOOKING_BYTES: usize = 3 * 128 + 10_000 * 6 + 256;

#[rustfmt::skip]
pub(super) fn all() -> Vec<HttpFunction<Stores>> {
    let rooms    = Footprint::Page { item: ROOM_BYTES, limit: 20 };
    let newest   = Footprint::Page { item: ROOM_BYTES, limit: 10 };
    let bookings = Footprint::Page { item: BOOKING_BYTES, limit: 20 };
    vec![
        put("PutPerson",        "/api/people/{personId}",                    Owner,     put_person),
        get("ListRooms",        "/api/people/{personId}/rooms",              Anonymous, list_rooms).answers(rooms).reads_copies_of(&["NamesInRooms", "RoomCopies"]),
        get("GetRoomCount",     "/api/people/{personId}/room-count",         Anonymous, get_room_count).reads_copies_of(&["RoomCounts"]),
        put("PutRoom",          "/api/rooms/{roomId}",                       Owner,     put_room),
        get("GetRoom",          "/api/rooms/{roomId}",                       Anonymous, get_room).reads_copies_of(&["NamesInRooms"]),
        delete("DeleteRoom",    "/api/rooms/{roomId}",                       Owner,     delete_room),
        get("GetNewestRooms",   "/api/newest-rooms",                         Anonymous, get_newest_rooms).answers(newest).reads_copies_of(&["NamesInRooms", "NewestRooms"]),
        post("CreateBooking",   "/api/rooms/{roomId}/bookings",              Function,  create_booking),
        get("ListBookings",     "/api/rooms/{roomId}/bookings",              Anonymous, list_bookings).answers(bookings),
        get("GetBooking",       "/api/rooms/{roomId}/bookings/{bookingId}",  Anonymous, get_booking),
        delete("DeleteBooking", "/api/rooms/{roomId}/bookings/{bookingId}",  Function,  delete_booking),
    ]
}
