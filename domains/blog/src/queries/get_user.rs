//! Q1: `GET /users/{userId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Blog,
    model::{PublicUser, UserId},
};

/// Returns a user: one point read.
pub async fn get_user(
    State(blog): State<Blog>,
    Params(id): Params<UserId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let find = async |reads| {
        let user = blog.reading(reads).user_slot(&id).await?.live();
        user.ok_or(ApiError::NotFound("user"))
    };
    let user = confirm(find).await?;
    Ok(found(&conditions, &user.item.public, &user.etag))
}
