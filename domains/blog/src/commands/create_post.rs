//! C2: `POST /posts`.

use axum::extract::State;
use tributary_functions::{
    cosmos::{Reads, Reason, retry},
    engines::command::WrittenItem,
    http::{Actor, ApiError, ItemResponse, JsonBody},
};
use uuid::Uuid;

use super::put_post::{create, location};
use crate::{
    Blog,
    model::{Post, PostId, PostText, PublicPost},
};

/// Creates a post under an id of the server: one store request, one for the copy of its author, and one more
/// if the name of the author is not remembered.
pub async fn create_post(
    State(blog): State<Blog>,
    actor: Actor,
    JsonBody(text): JsonBody<PostText>,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    actor.must_be(text.user_id.as_str())?;
    let id = PostId::parse(Uuid::now_v7().to_string())
        .map_err(|error| ApiError::invalid("id", error.to_string()))?;
    let author = blog.confirmed_author(&text.user_id).await?;
    let post = Post::new(id, &text, &author);
    let written = retry(async |_| match create(&blog, post.clone(), None).await {
        // A fresh id is unique. So this item is this command's own write, whose response was lost.
        Err(ApiError::Store(error)) if error.reason == Reason::Conflict => {
            let stored = blog.reading(Reads::Latest).post_slot(&post.public.post_id).await?;
            stored.live().map(WrittenItem::created).ok_or(ApiError::Store(error))
        }
        result => result,
    });
    let written = written.await?;
    Ok(written.answer(&written.stored.item.public, location))
}
