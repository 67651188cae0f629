//! C3: comments.

use tributary_functions::prelude::*;

use crate::{
    Blog,
    model::{Comment, CommentContent, CommentId, PostId, PublicComment, UserId},
    reactions::{Reaction, ReactionId},
};

from_form!(
    pub struct NewComment {
        user_id: UserId = text("userId", UserId::parse),
        content: CommentContent = text("content", CommentContent::parse),
    }
);

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
    let author = blog.author(&body.user_id).await?;
    let id = new_id(key.as_ref(), &format!("comment {post_id} {}", body.user_id))?;
    let comment = Comment::new(&post_id, id, &author, &body.content, Timestamp::now());
    let is_same = |known: &Comment| known.public.content == comment.public.content;
    let created = retry(async |_| {
        let request = FamilyRequest::new(&command);
        blog.reactions.create_once(&post_id, comment.clone(), request, is_same).await
    });
    let Stored { item: Comment { public, .. }, etag } = created.await?;
    Ok(http::created(&format!("/api/posts/{post_id}/comments/{}", public.id), &public, &etag))
}

/// Deletes a comment and counts it off, in one transaction: two store requests if no other command
/// writes to the post, and one more to read the comment's author if callers are signed in.
pub async fn delete_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let id = ReactionId::Comment(comment_id);
    command.delete_child(&blog.reactions, (&post_id, id), &actor, Reaction::user_id).await
}
