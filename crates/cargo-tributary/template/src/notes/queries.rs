//! The queries: one point read each.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use super::{NoteId, Notes, OwnerId, commands::PublicNote};

/// Returns a note.
pub(super) async fn get_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicNote>, ApiError> {
    let find = async |reads| {
        let note = notes.slot(&owner, &id, reads).await?.live();
        let note = note.ok_or(ApiError::NotFound("note"))?;
        Ok(http::found(&conditions, &PublicNote::from(&note.item), &note.etag))
    };
    confirm(find).await
}

/// The number of notes of an owner.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NoteCount {
    owner_id: OwnerId,
    note_count: i64,
}

/// Returns the number of notes of an owner: 0 for an owner without notes.
pub(super) async fn get_note_count(
    State(notes): State<Notes>,
    Params(owner): Params<OwnerId>,
) -> Result<Json<NoteCount>, ApiError> {
    let note_count = aggregate::total(&notes.counts, owner.as_str()).await?;
    Ok(Json(NoteCount { owner_id: owner, note_count }))
}
