//! The queries: one point read each.

use axum::{Json, extract::State, response::Response};
use serde_json::{Value, json};
use tributary_functions::{
    cosmos::confirm,
    http::{self, ApiError, Conditions, Params},
    projection::aggregate::total,
};

use super::{NoteId, Notes, OwnerId, commands::PublicNote};

/// Returns a note.
pub(super) async fn get_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    let find = async |reads| {
        let note = notes.place(&owner, &id, reads).await?.live();
        let note = note.ok_or(ApiError::NotFound("note"))?;
        Ok(http::found(&conditions, &PublicNote::from(&note.item), &note.etag))
    };
    confirm(find).await
}

/// Returns how many notes an owner has: 0 for one who has written nothing.
pub(super) async fn get_note_count(
    State(notes): State<Notes>,
    Params(owner): Params<OwnerId>,
) -> Result<Json<Value>, ApiError> {
    let count = total(&notes.counts.totals, owner.as_str()).await?;
    Ok(Json(json!({"ownerId": owner, "noteCount": count})))
}
