//! C3: `POST /posts/{postId}/comments`.

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};

use crate::{
    blog::{
        Blog,
        groups::{Done, Operation},
        model::{Change, Comment, CommentContent, CommentId, PostId, PostsItem, UserId},
    },
    cosmos::{Attempt, ETag, retry},
    http::{self, Actor, ApiError, Form, FromForm, JsonBody, Params},
    values::{CommandId, Timestamp},
};

/// The body of C3.
pub struct NewComment {
    user_id: UserId,
    content: CommentContent,
}

impl FromForm for NewComment {
    fn from_form(form: &mut Form) -> Option<Self> {
        let user_id = form.text("userId", UserId::parse);
        let content = form.text("content", CommentContent::parse);
        Some(Self { user_id: user_id?, content: content? })
    }
}

/// The header `Idempotency-Key`: 1 to 255 printable ASCII characters.
pub struct IdempotencyKey(Option<String>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Ok(Self(None));
        };
        match value.to_str() {
            Ok(key)
                if (1..=255).contains(&key.len())
                    && key.bytes().all(|c| (0x20..0x7f).contains(&c)) =>
            {
                Ok(Self(Some(key.to_owned())))
            }
            _ => Err(ApiError::invalid(
                "Idempotency-Key",
                "must be 1 to 255 printable ASCII characters",
            )),
        }
    }
}

/// Creates a comment and counts it, in one transaction: two store requests when nobody else
/// writes to the post, and one for a user who has not been seen lately.
pub async fn create_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params(post_id): Params<PostId>,
    IdempotencyKey(key): IdempotencyKey,
    command: CommandId,
    JsonBody(body): JsonBody<NewComment>,
) -> Result<Response, ApiError> {
    actor.must_be(body.user_id.as_str())?;
    let author = blog.confirmed_author(&body.user_id).await?;
    let id = match &key {
        Some(key) => CommentId::from_key(&post_id, &body.user_id, key),
        None => CommentId::fresh(),
    };
    let comment = Comment::new(&post_id, id, &author, &body.content, Timestamp::now());
    let attempt = async |attempt: Attempt| {
        let operation = Operation::new(Change::Comment(comment.clone()), &command);
        match blog.reading(attempt.reads).change(&post_id, operation).await? {
            Done::Written(etag) => Ok(created(&comment, &etag)),
            // By an earlier try, or by an earlier request with this key.
            Done::Exists { item: PostsItem::Comment(stored), etag, .. } => {
                if stored.public.content == comment.public.content {
                    Ok(created(&stored, &etag))
                } else {
                    Err(ApiError::Conflict("This Idempotency-Key was used with another body."))
                }
            }
            Done::Exists { .. } | Done::Missing { .. } | Done::Edited(_) => Err(ApiError::Internal),
        }
    };
    retry(attempt).await
}

fn created(comment: &Comment, etag: &ETag) -> Response {
    let public = &comment.public;
    http::created(&format!("/api/posts/{}/comments/{}", public.post_id, public.id), public, etag)
}
