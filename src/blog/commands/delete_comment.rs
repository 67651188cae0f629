//! `DELETE /posts/{postId}/comments/{commentId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    blog::{
        Blog,
        model::{CommentId, Post, PostId, PostsItem},
    },
    cosmos::{Reason, Refusal, Transaction, retry},
    http::{Actor, ApiError, Conditions, Params},
};

/// Deletes a comment and counts it off, in one transaction: two store requests when nobody else
/// writes to the post, and one to see whose it is when callers are known.
pub async fn delete_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    conditions: Conditions,
) -> Result<StatusCode, ApiError> {
    // The post is an item of the same partition, under its own id.
    if comment_id.as_str() == post_id.as_str() {
        return Err(ApiError::NotFound("comment"));
    }
    let comment = Reaction {
        id: comment_id.as_str(),
        name: "comment",
        count_off: Post::without_comment,
        by: actor,
    };
    remove(&blog, &post_id, &comment, &conditions).await
}

/// A comment or a like that is to be deleted.
pub(super) struct Reaction<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'static str,
    pub(super) count_off: fn(&Post) -> Post,
    /// Who must have made it.
    pub(super) by: Actor,
}

/// Deletes a comment or a like and replaces the post that counted it.
pub(super) async fn remove(
    blog: &Blog,
    post_id: &PostId,
    reaction: &Reaction<'_>,
    conditions: &Conditions,
) -> Result<StatusCode, ApiError> {
    let attempt = async |answer_lost| {
        match attempt(blog, post_id, reaction, conditions).await {
            // It was there when an earlier try began, which has deleted it.
            Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
            Err(ApiError::NotFound(_)) if conditions.demands_existence() => {
                Err(ApiError::PreconditionFailed)
            }
            result => result,
        }
    };
    retry(attempt).await
}

async fn attempt(
    blog: &Blog,
    post_id: &PostId,
    reaction: &Reaction<'_>,
    conditions: &Conditions,
) -> Result<StatusCode, ApiError> {
    let post = blog.post(post_id).await?;
    let mut etag = None;
    if !conditions.is_empty() || reaction.by != Actor::ANYBODY {
        let stored = blog.posts.read::<PostsItem>(post_id.as_str(), reaction.id).await?;
        let stored = stored.ok_or(ApiError::NotFound(reaction.name))?;
        reaction.by.must_be(stored.item.user_id().as_str())?;
        conditions.check(Some(&stored.etag))?;
        etag = Some(stored.etag);
    }
    let without = PostsItem::Post((reaction.count_off)(&post.item));
    let transaction = Transaction::new(post_id.as_str())
        .delete(reaction.id, etag.as_ref())
        .replace(post_id.as_str(), &without, &post.etag)?;
    match blog.posts.transact(transaction).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(Refusal { operation: Some(0), error })
            if error.reason == Reason::NotFound && !error.answer_lost =>
        {
            Err(ApiError::NotFound(reaction.name))
        }
        Err(Refusal { error, .. }) => Err(error.into()),
    }
}
