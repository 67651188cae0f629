//! C1: `POST /users`.

use axum::{extract::State, response::Response};
use uuid::Uuid;

use super::put_user::{NewName, create, save};
use crate::{
    blog::{
        Blog,
        model::{User, UserId},
    },
    cosmos::retry,
    http::{ApiError, Conditions, JsonBody},
};

/// Creates a user under an id of ours: two store requests.
pub async fn create_user(
    State(blog): State<Blog>,
    JsonBody(NewName(username)): JsonBody<NewName>,
) -> Result<Response, ApiError> {
    let id = UserId::parse(Uuid::now_v7().to_string())
        .map_err(|error| ApiError::invalid("id", error.to_string()))?;
    let user = User::new(id, username);
    retry(async |answer_lost| {
        if answer_lost {
            save(&blog, &user, &Conditions::default(), answer_lost).await
        } else {
            // No need to look: an id that was just made belongs to nobody.
            create(&blog, &user, None).await
        }
    })
    .await
}
