//! Q1: `GET /users/{userId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::blog::{
    Blog,
    model::{PublicUser, UserId},
    state::UserSlot,
};

/// A user: one point read.
pub async fn get_user(
    State(blog): State<Blog>,
    Params(id): Params<UserId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let find = async |reads| match blog.reading(reads).user_slot(&id).await? {
        UserSlot::Live(user) => Ok(found(&conditions, &user.item.public, &user.etag)),
        UserSlot::Empty | UserSlot::Deleted(_) => Err(ApiError::NotFound("user")),
    };
    confirm(find).await
}
