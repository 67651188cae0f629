//! Rooms. A command reads, decides, and writes under the ETag that it has read.

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
};
use tributary_functions::{
    cosmos::{Attempt, ETag, Query, Scope, confirm, retry},
    engines::command::{Delete, Put, Wanted},
    http::{self, ApiError, Conditions, ItemResponse, JsonBody, Params, StoredItems, limit_of},
    projection::{
        removal::{Remaining, remove_some},
        window::Window,
    },
    values::{CommandId, Timestamp},
};

use crate::rooms::{
    NewestRooms, Room, RoomId, RoomText, RoomsItem, Stores, model::PublicRoom,
    projections::BookingsOfDeletedRooms,
};

/// The room that a command creates.
struct CreatedBy<'a>(&'a CommandId);

impl Wanted<Room> for CreatedBy<'_> {
    fn has_created(&self, room: &Room) -> bool {
        room.created_by == *self.0
    }
}

pub(super) async fn put_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(text): JsonBody<RoomText>,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    retry(async |attempt: Attempt| {
        let stores = stores.reading(attempt.reads);
        let (status, room, etag) = match stores.room(&id).await?.put(
            &command,
            attempt,
            &CreatedBy(&command),
        ) {
            Put::Created(room) => return Ok(shown(StatusCode::CREATED, &room.item, &room.etag)),
            Put::Edited(room) => return Ok(shown(StatusCode::OK, &room.item, &room.etag)),
            Put::Edit(room) => {
                conditions.check(Some(&room.etag))?;
                if room.item.public.person_id != text.person_id {
                    return Err(ApiError::Conflict(
                        "This room belongs to another person. Choose another id.",
                    ));
                }
                if room.item.public.title == text.title {
                    attempt.reads.confirmed()?;
                    return Ok(shown(StatusCode::OK, &room.item, &room.etag));
                }
                (StatusCode::OK, room.item.edited(&text.title, &command), Some(room.etag))
            }
            Put::Create(before) => {
                conditions.check(None)?;
                let person = stores.person(&text.person_id).await?;
                let person = person.ok_or(ApiError::NotFound("person"))?.item;
                let bookings = BookingsOfDeletedRooms(&stores.rooms);
                if let Some(before) = &before
                    && remove_some(&bookings, &before.item).await? == Remaining::Some
                {
                    return Err(ApiError::Conflict(
                        "The bookings of the deleted room are still being removed. Retry later.",
                    ));
                }
                let (before, etag) = before.map(|before| (before.item, before.etag)).unzip();
                let room = Room::new(id.clone(), &text.title, &person, before.as_ref(), &command);
                (StatusCode::CREATED, room, etag)
            }
        };
        let item = RoomsItem::Room(room.clone());
        let etag = stores.rooms.put(id.as_str(), id.as_str(), &item, etag.as_ref()).await?;
        Ok(shown(status, &room, &etag))
    })
    .await
}

fn shown(status: StatusCode, room: &Room, etag: &ETag) -> ItemResponse<PublicRoom> {
    http::item(status, &room.public, etag)
}

pub(super) async fn get_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    confirm(async |reads| {
        let room = stores.reading(reads).room(&id).await?.live();
        let room = room.ok_or(ApiError::NotFound("room"))?;
        Ok(http::found(&conditions, &room.item.public, &room.etag))
    })
    .await
}

pub(super) async fn delete_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let room = match stores.reading(reads).room(&id).await?.delete(&command) {
            Delete::Live(room) => room,
            Delete::Done => return Ok(StatusCode::NO_CONTENT),
            Delete::Missing => return Err(conditions.missing("room")),
        };
        conditions.check(Some(&room.etag))?;
        let mut tombstone = room.item.deleted();
        tombstone.recent.remember([command.clone()], Timestamp::now());
        let tombstone = RoomsItem::DeletedRoom(tombstone);
        stores.rooms.put(id.as_str(), id.as_str(), &tombstone, Some(&room.etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Returns the newest rooms: the head of the window and its tombstones have no creation date.
pub(super) async fn get_newest_rooms(
    State(stores): State<Stores>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<PublicRoom>, ApiError> {
    let limit = limit_of(query.as_deref(), NewestRooms::CAPACITY)?;
    let query = Query::from(
        "SELECT TOP @limit c.id, c.roomId, c.personId, c.personName, c.title, c.bookingCount, \
         c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
    );
    let query = query.with_parameter("@limit", limit)?;
    let scope = Scope::Partition(NewestRooms::PARTITION);
    Ok(stores.newest.query(query, scope, limit).await?.into())
}
