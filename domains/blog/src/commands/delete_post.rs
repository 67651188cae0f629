//! `DELETE /posts/{postId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, retry},
    engines::idempotency::RemembersCommands,
    http::{Actor, ApiError, ItemCommand, Params},
};

use crate::{
    Blog,
    model::{PostId, PostsItem},
};

/// Deletes a post: two store requests. A tombstone replaces the post, and hides its comments and
/// likes from all readers at once. The change feed delivers the tombstone, to remove them and the
/// copies.
pub async fn delete_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |attempt: Attempt| {
        let blog = blog.reading(attempt.reads);
        let Some(post) = command.delete(blog.post_slot(&id).await?, "post")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        actor.must_be(post.item.public.user_id.as_str())?;
        command.conditions.check(Some(&post.etag))?;
        let tombstone = PostsItem::from(post.item.deleted().remembering(&command.id));
        blog.posts.replace(id.as_str(), id.as_str(), &tombstone, &post.etag).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
