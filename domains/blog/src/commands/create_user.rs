//! C1: `POST /users`.

use axum::extract::State;
use tributary_functions::{
    cosmos::{Attempt, retry},
    http::{Actor, ApiError, Conditions, ItemCommand, ItemResponse, JsonBody},
    values::CommandId,
};
use uuid::Uuid;

use super::put_user::{NewName, answer, create, save};
use crate::{
    Blog,
    model::{PublicUser, User, UserId},
};

/// Creates a user under an id of the server: two store requests. A signed-in caller is created
/// under its principal id. This costs one extra read, to refuse a second sign-up.
pub async fn create_user(
    State(blog): State<Blog>,
    actor: Actor,
    command: CommandId,
    JsonBody(NewName(username)): JsonBody<NewName>,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let id = actor.user_id().map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
    let id = UserId::parse(id).map_err(|error| ApiError::invalid("id", error.to_string()))?;
    let user = User::new(id, username);
    let command = ItemCommand { id: command, conditions: Conditions::only_create() };
    let written = retry(async |attempt: Attempt| {
        let blog = blog.reading(attempt.reads);
        if attempt.answer_lost || actor.user_id().is_some() {
            match save(&blog, &user, &command, attempt).await {
                Err(ApiError::PreconditionFailed) => Err(ApiError::Conflict(
                    "Your user exists already. Change its name with `PUT /api/users/{userId}`.",
                )),
                result => result,
            }
        } else {
            // A fresh id is unique, so this needs no read.
            create(&blog, user.clone(), None).await
        }
    });
    Ok(answer(&written.await?))
}
