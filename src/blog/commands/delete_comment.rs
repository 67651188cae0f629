//! `DELETE /posts/{postId}/comments/{commentId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    blog::{
        Blog,
        groups::{Done, Operation},
        model::{Change, CommentId, PostId, PostsItem},
    },
    cosmos::{Attempt, retry},
    http::{Actor, ApiError, Conditions, Params},
    values::CommandId,
};

/// Deletes a comment and counts it off, in one transaction: two store requests when nobody else
/// writes to the post, and one to see whose it is when callers are known.
pub async fn delete_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    // The post is an item of the same partition, under its own id.
    if comment_id.as_str() == post_id.as_str() {
        return Err(ApiError::NotFound("comment"));
    }
    let comment = ("comment", Operation::new(Change::DeleteComment(comment_id), &command));
    remove(&blog, &post_id, comment, &actor, &conditions).await
}

/// Deletes a comment or a like that `by` has made, and counts it off.
pub(super) async fn remove(
    blog: &Blog,
    post_id: &PostId,
    (name, operation): (&'static str, Operation),
    by: &Actor,
    conditions: &Conditions,
) -> Result<StatusCode, ApiError> {
    let attempt = async |reads| {
        let blog = blog.reading(reads);
        let mut operation = operation.clone();
        if !conditions.is_empty() || *by != Actor::ANYBODY {
            let post = blog.post(post_id).await?;
            if post.item.recent.knows(&operation.command) {
                return Ok(StatusCode::NO_CONTENT);
            }
            operation.seen = Some(post);
            let id = operation.change.id();
            let stored = blog.posts.read::<PostsItem>(post_id.as_str(), &id).await?;
            let stored = stored.ok_or(ApiError::NotFound(name))?;
            by.must_be(stored.item.user_id().as_str())?;
            conditions.check(Some(&stored.etag))?;
            operation.etag = Some(stored.etag);
        }
        match blog.change(post_id, operation).await? {
            Done::Missing { answer_lost: false } => Err(ApiError::NotFound(name)),
            // It was there when an earlier try began, which has deleted it.
            _ => Ok(StatusCode::NO_CONTENT),
        }
    };
    let attempt = async |Attempt { answer_lost, reads }| match attempt(reads).await {
        Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
        Err(ApiError::NotFound(_)) if conditions.demands_existence() => {
            Err(ApiError::PreconditionFailed)
        }
        result => result,
    };
    retry(attempt).await
}
