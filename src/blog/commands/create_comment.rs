//! C3: `POST /posts/{postId}/comments`.

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};

use crate::{
    blog::{
        Blog,
        model::{Author, Comment, CommentContent, CommentId, PostId, PostsItem, UserId},
    },
    cosmos::{ETag, Reason, Refusal, Transaction, retry},
    http::{self, Actor, ApiError, Form, FromForm, JsonBody, Params},
    values::Timestamp,
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
    JsonBody(body): JsonBody<NewComment>,
) -> Result<Response, ApiError> {
    actor.must_be(body.user_id.as_str())?;
    let author = blog.author(&body.user_id).await?;
    let id = match &key {
        Some(key) => CommentId::from_key(&post_id, &body.user_id, key),
        None => CommentId::fresh(),
    };
    let now = Timestamp::now();
    retry(|_| comment(&blog, &post_id, &id, &author, &body.content, now)).await
}

async fn comment(
    blog: &Blog,
    post_id: &PostId,
    id: &CommentId,
    author: &Author,
    content: &CommentContent,
    now: Timestamp,
) -> Result<Response, ApiError> {
    let post = blog.post(post_id).await?;
    let counting = post.item.with_comment();
    let comment = Comment::new(id.clone(), &counting, author, content, now);
    let transaction = Transaction::new(post_id.as_str())
        .create(&PostsItem::Comment(comment.clone()))?
        .replace(post_id.as_str(), &PostsItem::Post(counting), &post.etag)?;
    match blog.posts.transact(transaction).await {
        Ok(etags) => Ok(created(&comment, &etags[0])),
        Err(Refusal { operation: Some(0), error }) if error.reason == Reason::Conflict => {
            let Some(stored) = blog.comment(post_id, id).await? else {
                return Err(error.into());
            };
            if stored.item.public.content == content.as_str() {
                Ok(created(&stored.item, &stored.etag))
            } else {
                Err(ApiError::Conflict("This Idempotency-Key was used with another body."))
            }
        }
        Err(refusal) => Err(refusal.error.into()),
    }
}

fn created(comment: &Comment, etag: &ETag) -> Response {
    let public = &comment.public;
    http::created(&format!("/api/posts/{}/comments/{}", public.post_id, public.id), public, etag)
}
