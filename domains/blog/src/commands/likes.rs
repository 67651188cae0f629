//! C4: likes.

use tributary_functions::prelude::*;

use crate::{
    Blog,
    model::{Like, PostId, PublicLike, UserId, like_id},
    reactions::{Reaction, ReactionId},
};

/// Creates a like and counts it, in one transaction: two store requests if no other command writes
/// to the post, and one more if the name of the user is not remembered. A repeated like changes
/// nothing.
pub async fn like_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    command: ItemCommand,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    actor.must_be(user_id.as_str())?;
    let author = blog.author(&user_id).await?;
    let existing = |like: Stored<Like>| {
        command.conditions.check(Some(&like.etag))?;
        Ok(WrittenItem::edited(like))
    };
    let written = if command.conditions.demands_existence() {
        // Under this condition a like is found or not, and never created.
        blog.post(&post_id).await?;
        let like = blog.posts.item(&post_id, like_id(&user_id)).await?;
        existing(like.ok_or(ApiError::PreconditionFailed)?)?
    } else {
        let like = Like::new(&post_id, &author, Timestamp::now()).created_by(command.id.clone());
        let create = async |_| {
            let request = FamilyRequest::new(&command.id);
            match blog.reactions.create(&post_id, like.clone(), request).await? {
                CreateOutcome::Created(etag) => {
                    Ok(WrittenItem::created(Stored { item: like.clone(), etag }))
                }
                // An earlier attempt, or an earlier delivery of this request by the host, has created
                // the like.
                CreateOutcome::Exists(stored) if stored.item.command == like.command => {
                    Ok(WrittenItem::created(stored))
                }
                CreateOutcome::Exists(stored) => existing(stored),
                // A deleted like can be created again.
                CreateOutcome::Deleted => Err(StoreError::race(false).into()),
                CreateOutcome::NoParent => Err(ApiError::NotFound("post")),
            }
        };
        retry(create).await?
    };
    Ok(written
        .answer(&written.stored.item.public, |_| format!("/api/posts/{post_id}/likes/{user_id}")))
}

/// Deletes a like and counts it off, in one transaction: two store requests if no other command
/// writes to the post.
pub async fn unlike_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    actor.must_be(user_id.as_str())?;
    // The id of the like names its user, so the like is not read to find that out.
    let actor = Actor::ANY_USER;
    let id = ReactionId::Like(user_id);
    command.delete_child(&blog.reactions, (&post_id, id), &actor, Reaction::user_id).await
}
