//! `DELETE /posts/{postId}/comments/{commentId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, Reads, retry},
    engines::counted_children::{Deletion, Request},
    http::{Actor, ApiError, Conditions, Params},
    values::CommandId,
};

use crate::blog::{
    Blog,
    model::{CommentId, PostId, PostsItem},
    reactions::ReactionId,
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
    let comment = ("comment", ReactionId::Comment(comment_id));
    remove(&blog, &post_id, comment, &actor, &conditions, &command).await
}

/// Deletes a comment or a like that `by` has made, and counts it off.
pub(super) async fn remove(
    blog: &Blog,
    post_id: &PostId,
    (name, id): (&'static str, ReactionId),
    by: &Actor,
    conditions: &Conditions,
    command: &CommandId,
) -> Result<StatusCode, ApiError> {
    let attempt = async |reads: Reads| {
        let blog = blog.reading(reads);
        let mut request = Request::new(command, reads);
        if !conditions.is_empty() || *by != Actor::ANYBODY {
            let post = blog.post(post_id).await?;
            if post.item.recent.knows(command) {
                return Ok(StatusCode::NO_CONTENT);
            }
            let stored = blog.posts.read::<PostsItem>(post_id.as_str(), &id.to_string()).await?;
            let stored = stored.ok_or(ApiError::NotFound(name))?;
            by.must_be(stored.item.user_id().as_str())?;
            conditions.check(Some(&stored.etag))?;
            request = request.seen(post).if_match(Some(stored.etag));
        }
        match blog.reactions.delete(post_id, id.clone(), request).await? {
            Deletion::Deleted => Ok(StatusCode::NO_CONTENT),
            Deletion::Missing => Err(ApiError::NotFound(name)),
            Deletion::NoParent => Err(ApiError::NotFound("post")),
        }
    };
    let attempt = async |Attempt { answer_lost, reads }| match attempt(reads).await {
        // It was there when an earlier attempt began, which has deleted it.
        Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
        Err(ApiError::NotFound(what)) => Err(conditions.missing(what)),
        result => result,
    };
    retry(attempt).await
}
