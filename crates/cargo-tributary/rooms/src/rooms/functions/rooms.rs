//! Rooms. A command reads, decides, and writes under the ETag that it has read.

use tributary_functions::{
    http::limit_of,
    prelude::*,
    projection::{removal::remove_some, window::Window},
};

use crate::rooms::{
    NewestRooms, Room, RoomId, RoomText, Stores, model::PublicRoom,
    projections::BookingsOfDeletedRooms,
};

/// The room as its caller wants it.
struct WantedRoom<'a> {
    text: &'a RoomText,
    command: &'a CommandId,
}

impl DesiredItem<Room> for WantedRoom<'_> {
    fn has_created(&self, room: &Room) -> bool {
        room.created_by == *self.command
    }

    fn is_satisfied_by(&self, room: &Room) -> bool {
        room.public.person_id == self.text.person_id && room.public.title == self.text.title
    }
}

pub(super) async fn put_room(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<RoomId>,
    command: ItemCommand,
    JsonBody(text): JsonBody<RoomText>,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    actor.must_be(text.person_id.as_str())?;
    let wanted = WantedRoom { text: &text, command: &command.id };
    retry(async |attempt: Attempt| {
        let (room, etag, is_new) = match command.put(stores.rooms.slot(&id, &id).await?, attempt, &wanted)? {
            PutStep::Done(written) => return Ok(answer(&written)),
            PutStep::Edit(room) => {
                if room.item.public.person_id != text.person_id {
                    return Err(ApiError::Conflict(
                        "This room belongs to another person. Choose another id.",
                    ));
                }
                (room.item.edited(&text.title, &command.id), Some(room.etag), false)
            }
            PutStep::Create(before) => {
                let person = stores.person(&text.person_id).await?;
                let person = person.ok_or(ApiError::NotFound("person"))?.item;
                let bookings = BookingsOfDeletedRooms(&stores.rooms);
                if let Some(before) = &before
                    && !remove_some(&bookings, &before.item).await?
                {
                    return Err(ApiError::Conflict(
                        "The bookings of the deleted room are still being removed. Retry later.",
                    ));
                }
                let (before, etag) = before.map(|before| (before.item, before.etag)).unzip();
                let room =
                    Room::new(id.clone(), &text.title, &person, before.as_ref(), &command.id);
                let room = room.ok_or(ApiError::Conflict(
                    "Rooms with this id had too many owners in the last 30 days. Choose another id.",
                ))?;
                (room, etag, true)
            }
        };
        let stored = stores.rooms.save(room, etag.as_ref()).await?;
        Ok(answer(&WrittenItem { stored, is_new }))
    })
    .await
}

fn answer(written: &WrittenItem<Room>) -> ItemResponse<PublicRoom> {
    written.answer(&written.stored.item.public, |room| format!("/api/rooms/{}", room.public.id))
}

pub(super) async fn get_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicRoom>, ApiError> {
    let room = stores.rooms.item::<Room>(&id, &id).await?;
    let room = room.ok_or(ApiError::NotFound("room"))?;
    Ok(http::found(&conditions, &room.item.public, &room.etag))
}

pub(super) async fn delete_room(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<RoomId>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = stores.rooms.slot::<Room>(&id, &id).await?;
        let Some(room) = command.delete(slot, "room")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        actor.must_be(room.item.public.person_id.as_str())?;
        command.conditions.check(Some(&room.etag))?;
        stores.rooms.save(room.item.deleted(&command.id), Some(&room.etag)).await?;
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
