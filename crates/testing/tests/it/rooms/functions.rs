//! The functions over HTTP.

use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Value, json};
use tributary_functions::{
    cosmos::{Attempt, Reads, StoreError, Stored, confirm, retry},
    http::{
        self, ApiError, AuthLevel::Anonymous, AuthLevel::Function, Conditions, HttpFunction,
        ItemResponse, JsonBody, Params, delete, get, put,
    },
    projection::aggregate::total,
};

use super::{
    PeopleItem, Person, PersonId, Room, RoomId, RoomsItem, Stores,
    model::{Name, RoomText},
};

#[rustfmt::skip]
pub(super) fn all() -> Vec<HttpFunction<Stores>> {
    vec![
        put("PutPerson",    "/api/people/{personId}",            Function,  put_person),
        put("PutRoom",      "/api/rooms/{roomId}",               Function,  put_room),
        get("GetRoom",      "/api/rooms/{roomId}",               Anonymous, get_room),
        delete("DeleteRoom", "/api/rooms/{roomId}",              Function,  delete_room),
        get("GetRoomCount", "/api/people/{personId}/room-count", Anonymous, get_room_count),
    ]
}

impl Stores {
    async fn person(
        &self,
        id: &PersonId,
        reads: Reads,
    ) -> Result<Option<Stored<Person>>, StoreError> {
        let stored = self.people.reading(reads).read(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|Stored { item, etag }| match item {
            PeopleItem::Person(item) => Some(Stored { item, etag }),
            _ => None,
        }))
    }

    async fn room(
        &self,
        id: &RoomId,
        reads: Reads,
    ) -> Result<Option<Stored<RoomsItem>>, StoreError> {
        self.rooms.reading(reads).read(id.as_str(), id.as_str()).await
    }
}

async fn put_person(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
    conditions: Conditions,
    JsonBody(Name(name)): JsonBody<Name>,
) -> Result<ItemResponse<Value>, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let before = stores.person(&id, reads).await?;
        let etag = before.as_ref().map(|before| &before.etag);
        conditions.check(etag)?;
        let item = before.as_ref().map(|before| &before.item);
        let status = if item.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let person = Person::new(id.clone(), name.clone(), item);
        let shown = json!({"personId": id, "name": name});
        let item = PeopleItem::Person(person);
        let etag = stores.people.put(id.as_str(), id.as_str(), &item, etag).await?;
        Ok(http::item(status, &shown, &etag))
    })
    .await
}

fn shown(room: &Room) -> Value {
    json!({
        "roomId": room.room_id, "personId": room.person_id, "personName": room.person_name,
        "title": room.title,
    })
}

async fn put_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
    JsonBody(RoomText { person_id, title }): JsonBody<RoomText>,
) -> Result<ItemResponse<Value>, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let before = stores.room(&id, reads).await?;
        let etag = before.as_ref().map(|before| before.etag.clone());
        let (status, room) = match before.map(|before| before.item) {
            Some(RoomsItem::Room(room)) => {
                conditions.check(etag.as_ref())?;
                (StatusCode::OK, room.edited(&title))
            }
            before => {
                conditions.check(None)?;
                let person = stores.person(&person_id, reads).await?;
                let person = person.ok_or(ApiError::NotFound("person"))?.item;
                let tombstone = match &before {
                    Some(RoomsItem::DeletedRoom(tombstone)) => Some(tombstone),
                    _ => None,
                };
                (StatusCode::CREATED, Room::new(id.clone(), &title, &person, tombstone))
            }
        };
        let shown = shown(&room);
        let item = RoomsItem::Room(room);
        let etag = stores.rooms.put(id.as_str(), id.as_str(), &item, etag.as_ref()).await?;
        Ok(http::item(status, &shown, &etag))
    })
    .await
}

async fn get_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<ItemResponse<Value>, ApiError> {
    confirm(async |reads| match stores.room(&id, reads).await? {
        Some(Stored { item: RoomsItem::Room(room), etag }) => {
            Ok(http::found(&conditions, &shown(&room), &etag))
        }
        _ => Err(ApiError::NotFound("room")),
    })
    .await
}

async fn delete_room(
    State(stores): State<Stores>,
    Params(id): Params<RoomId>,
    conditions: Conditions,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let Some(Stored { item: RoomsItem::Room(room), etag }) = stores.room(&id, reads).await?
        else {
            return Err(conditions.missing("room"));
        };
        conditions.check(Some(&etag))?;
        let tombstone = RoomsItem::DeletedRoom(room.deleted());
        stores.rooms.put(id.as_str(), id.as_str(), &tombstone, Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn get_room_count(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
) -> Result<Json<Value>, ApiError> {
    let count = total(&stores.counts, id.as_str()).await?;
    Ok(Json(json!({"personId": id, "roomCount": count})))
}
