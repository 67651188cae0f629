//! People, and what the change feed keeps beside them.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use crate::rooms::{
    Person, PersonId, RoomCopies, Stores, Text,
    model::{Name, PublicRoom},
};

/// A person as the API shows one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Person")]
pub(super) struct PublicPerson {
    person_id: PersonId,
    name: Text,
}

/// The number of rooms of a person.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoomCount {
    person_id: PersonId,
    room_count: i64,
}

pub(super) async fn put_person(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<PersonId>,
    conditions: Conditions,
    JsonBody(Name(name)): JsonBody<Name>,
) -> Result<ItemResponse<PublicPerson>, ApiError> {
    actor.must_be(id.as_str())?;
    retry(async |_| {
        let before = stores.person(&id).await?;
        let etag = before.as_ref().map(|before| &before.etag);
        conditions.check(etag)?;
        let item = before.as_ref().map(|before| &before.item);
        let status = if item.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let person = Person::new(id.clone(), name.clone(), item);
        let shown = PublicPerson { person_id: id.clone(), name: name.clone() };
        Ok(http::item(status, &shown, &stores.people.save(person, etag).await?.etag))
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
pub(super) async fn list_rooms(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicRoom>>, ApiError> {
    let key = |room: &PublicRoom| SortKey(room.creation_date, RoomCopies::id(&room.room_id));
    page.of_children(&ROOMS, &stores.people, id.as_str(), key).await
}

pub(super) async fn get_room_count(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
) -> Result<Json<RoomCount>, ApiError> {
    let room_count = aggregate::total(&stores.counts, id.as_str()).await?;
    Ok(Json(RoomCount { person_id: id, room_count }))
}
