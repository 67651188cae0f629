//! `GET /dead-letters/{letterId}`.

use axum::extract::State;

use crate::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
    projection::{DeadLetter, DeadLetterId, Projections},
};

/// Returns a dead letter with the document as it was delivered: one point read.
pub(crate) async fn get_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<DeadLetterId>,
    conditions: Conditions,
) -> Result<ItemResponse<DeadLetter>, ApiError> {
    let find = async |reads| {
        let letter = projections.dead_letters().reading(reads).read(id.as_str()).await?;
        let letter = letter.ok_or(ApiError::NotFound("dead letter"))?;
        Ok(found(&conditions, &letter.item, &letter.etag))
    };
    confirm(find).await
}
