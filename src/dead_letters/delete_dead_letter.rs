//! `DELETE /dead-letters/{letterId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    cosmos::{Reason, retry},
    http::{ApiError, Conditions, Params},
    projection::{DeadLetters, Projections},
};

/// Deletes a dead letter: its change is given up. Two store requests.
pub async fn delete_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<String>,
    conditions: Conditions,
) -> Result<StatusCode, ApiError> {
    let attempt = async |answer_lost| {
        match delete(projections.letters(), &id, &conditions).await {
            // It was there when an earlier try began, which has deleted it.
            Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
            Err(ApiError::NotFound(_)) if conditions.demands_existence() => {
                Err(ApiError::PreconditionFailed)
            }
            result => result,
        }
    };
    retry(attempt).await
}

async fn delete(
    letters: &DeadLetters,
    id: &str,
    conditions: &Conditions,
) -> Result<StatusCode, ApiError> {
    const NOT_FOUND: ApiError = ApiError::NotFound("dead letter");
    let letter = letters.read(id).await?.ok_or(NOT_FOUND)?;
    conditions.check(Some(&letter.etag))?;
    match letters.delete(&letter).await {
        Err(error) if error.reason == Reason::NotFound && !error.answer_lost => Err(NOT_FOUND),
        Err(error) if error.reason != Reason::NotFound => Err(error.into()),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}
