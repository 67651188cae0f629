//! C3: `POST /posts/{postId}/comments`.

use axum::extract::State;
use tributary_functions::{
    cosmos::{Attempt, ETag, retry},
    engines::{
        counted_children::{CreateOutcome, FamilyRequest},
        idempotency::IdempotencyKey,
    },
    http::{self, Actor, ApiError, ItemResponse, JsonBody, Params, from_form},
    values::{CommandId, Timestamp},
};

use crate::{
    Blog,
    model::{Comment, CommentContent, CommentId, PostId, PublicComment, UserId},
};

pub struct NewComment {
    user_id: UserId,
    content: CommentContent,
}

from_form!(NewComment {
    user_id: text("userId", UserId::parse),
    content: text("content", CommentContent::parse),
});

/// Creates a comment and counts it, in one transaction: two store requests if no other command
/// writes to the post, and one more if the name of the user is not remembered.
pub async fn create_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params(post_id): Params<PostId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(body): JsonBody<NewComment>,
) -> Result<ItemResponse<PublicComment>, ApiError> {
    actor.must_be(body.user_id.as_str())?;
    let author = blog.confirmed_author(&body.user_id).await?;
    let id = match &key {
        // guard: a comment's id comes from its key => `CommentId::fresh()`
        Some(key) => CommentId::from_key(&post_id, &body.user_id, key),
        None => CommentId::fresh(),
    };
    let comment = Comment::new(&post_id, id, &author, &body.content, Timestamp::now());
    retry(async |attempt: Attempt| {
        let request = FamilyRequest::new(&command, attempt.reads);
        match blog.reactions.create(&post_id, comment.clone(), request).await? {
            CreateOutcome::Created(etag) => Ok(created(&comment, &etag)),
            // An earlier attempt, or an earlier request with this key, has created the comment.
            CreateOutcome::Exists(stored) if stored.item.public.content == comment.public.content => {
                Ok(created(&stored.item, &stored.etag))
            }
            CreateOutcome::Exists(_) => {
                Err(ApiError::Conflict("This Idempotency-Key was used with another body."))
            }
            CreateOutcome::Deleted => Err(ApiError::Conflict(
                "This comment was created before and has been deleted. Use another Idempotency-Key to create a new one.",
            )),
            CreateOutcome::NoParent => Err(ApiError::NotFound("post")),
        }
    })
    .await
}

fn created(comment: &Comment, etag: &ETag) -> ItemResponse<PublicComment> {
    let public = &comment.public;
    http::created(&format!("/api/posts/{}/comments/{}", public.post_id, public.id), public, etag)
}
