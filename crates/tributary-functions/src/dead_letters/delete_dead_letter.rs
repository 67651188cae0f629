//! `DELETE /dead-letters/{letterId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    cosmos::{Attempt, Reason, StoreError, retry},
    http::{ApiError, Conditions, Params},
    projection::{DeadLetterId, DeadLetters, Projections},
    values::CommandId,
};

/// Deletes a dead letter and gives up its change. Three store requests.
pub(crate) async fn delete_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<DeadLetterId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let attempt = async |attempt: Attempt| match delete(
        &projections.dead_letters().reading(attempt.reads),
        id.as_str(),
        &conditions,
        &command,
    )
    .await
    {
        Err(ApiError::NotFound(what)) => Err(conditions.missing(what)),
        result => result,
    };
    retry(attempt).await
}

async fn delete(
    letters: &DeadLetters,
    id: &str,
    conditions: &Conditions,
    command: &CommandId,
) -> Result<StatusCode, ApiError> {
    let letter = letters.read(id).await?;
    // An earlier attempt has settled it, or an earlier delivery of the same request by the host.
    if letters.settled(id, command).await?.is_some() {
        return Ok(StatusCode::NO_CONTENT);
    }
    let letter = letter.ok_or(ApiError::NotFound("dead letter"))?;
    conditions.check(Some(&letter.etag))?;
    match letters.settle(&letter, command, None).await {
        // Settled meanwhile, perhaps by this command. The next attempt decides.
        Err(error) if error.reason == Reason::NotFound => {
            Err(StoreError::race(error.answer_lost).into())
        }
        settled => Ok(settled.map(|()| StatusCode::NO_CONTENT)?),
    }
}
