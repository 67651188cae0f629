//! The functions over HTTP.

use axum::{Json, extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, Query, Scope, retry},
    engines::child_list::SortKey,
    http::{
        self, ApiError, AuthLevel::Anonymous, AuthLevel::Function, Conditions, Footprint,
        HttpFunction, ItemResponse, JsonBody, List, PageRequest, Params, delete, get, put,
    },
    projection::control::Generation,
};

use super::{
    OLD, Stores,
    model::{Note, NoteId, NoteText, OwnerId, PublicNote},
};

#[rustfmt::skip]
pub(super) fn all() -> Vec<HttpFunction<Stores>> {
    let notes = Footprint::Page { item: 1_024, limit: 20 };
    vec![
        put("PutNote",       "/api/notes/{noteId}",         Function,  put_note),
        delete("DeleteNote", "/api/notes/{noteId}",         Function,  delete_note),
        get("ListNotes",     "/api/owners/{ownerId}/notes", Anonymous, list_notes).answers(notes).reads_copies_of(&[OLD]),
    ]
}

/// Creates a note, or gives it another title. It keeps its owner.
async fn put_note(
    State(stores): State<Stores>,
    Params(id): Params<NoteId>,
    conditions: Conditions,
    JsonBody(text): JsonBody<NoteText>,
) -> Result<ItemResponse<PublicNote>, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let before = stores.notes.reading(reads).read::<Note>(id.as_str(), id.as_str()).await?;
        let etag = before.as_ref().map(|before| &before.etag);
        let item = before.as_ref().map(|before| &before.item);
        conditions.check(etag.filter(|_| item.is_some_and(Note::is_live)))?;
        if item.is_some_and(|item| item.content.owner_id != text.owner_id) {
            return Err(ApiError::Conflict("This note has another owner. Choose another id."));
        }
        let is_new = !item.is_some_and(Note::is_live);
        let text = NoteText { owner_id: text.owner_id.clone(), title: text.title.clone() };
        let note = Note::new(id.clone(), text, item);
        let written = stores.notes.put(id.as_str(), id.as_str(), &note, etag).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        let shown = PublicNote {
            id: id.clone(),
            text: note.content.title.to_string(),
            date: note.content.creation_date,
            shape: "source".to_owned(),
        };
        Ok(http::item(status, &shown, &written))
    })
    .await
}

/// Deletes a note. A missing one is deleted already.
async fn delete_note(
    State(stores): State<Stores>,
    Params(id): Params<NoteId>,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let before = stores.notes.reading(reads).read::<Note>(id.as_str(), id.as_str()).await?;
        if let Some(before) = before.filter(|before| before.item.is_live()) {
            let deleted = before.item.deleted();
            stores.notes.put(id.as_str(), id.as_str(), &deleted, Some(&before.etag)).await?;
        } else {
            tributary_functions::cosmos::Reads::confirmed(reads)?;
        }
        Ok::<_, ApiError>(StatusCode::NO_CONTENT)
    })
    .await
}

/// Lists the notes of an owner, in the order of the generation that serves.
async fn list_notes(
    State(stores): State<Stores>,
    Params(owner): Params<OwnerId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicNote>>, ApiError> {
    let (container, [owner_property, text, date, order, beyond, shape]) =
        match stores.of_owners.serving().await? {
            Generation::Old => {
                (&stores.old, ["ownerId", "title", "creationDate", "DESC", "<", "old"])
            }
            Generation::New => (&stores.new, ["owner", "heading", "createdAt", "ASC", ">", "new"]),
        };
    let after = page.after.clone();
    let read = async |most| {
        let behind = match after {
            Some(_) => format!(
                " AND (c.{date} {beyond} @date OR (c.{date} = @date AND c.id {beyond} @id))"
            ),
            None => String::new(),
        };
        let text = format!(
            "SELECT TOP @most c.id, c.{text} AS text, c.{date} AS date, '{shape}' AS shape FROM c \
             WHERE c.{owner_property} = @owner AND c.type = 'note'{behind} \
             ORDER BY c.{owner_property} {order}, c.type {order}, c.{date} {order}, c.id {order}"
        );
        let mut query =
            Query::from(text).with_parameter("@most", most)?.with_parameter("@owner", &owner)?;
        if let Some(SortKey(date, id)) = &after {
            query = query.with_parameter("@date", date)?.with_parameter("@id", id)?;
        }
        let scope = Scope::Partition(owner.as_str());
        Ok::<_, ApiError>(container.query_rows(query, scope, most).await?)
    };
    let key = |note: &PublicNote| SortKey(note.date, note.id.to_string());
    Ok(Json(page.read(read, key, |_| None).await?))
}
