//! C4: `PUT /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{
    blog::{
        Blog,
        model::{Author, Like, PostId, PostsItem, UserId},
    },
    cosmos::{ETag, Reason, Refusal, Transaction, retry},
    http::{self, ApiError, Params},
    values::Timestamp,
};

/// Creates a like and counts it, in one transaction: two store requests when nobody else writes to
/// the post, and one for a user who has not been seen lately. Liking again changes nothing.
pub async fn like_post(
    State(blog): State<Blog>,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
) -> Result<Response, ApiError> {
    let author = blog.author(&user_id).await?;
    let now = Timestamp::now();
    retry(|| like(&blog, &post_id, &author, now)).await
}

async fn like(
    blog: &Blog,
    post_id: &PostId,
    author: &Author,
    now: Timestamp,
) -> Result<Response, ApiError> {
    let post = blog.post(post_id).await?;
    let counting = post.item.with_like();
    let like = Like::new(&counting, author, now);
    let transaction = Transaction::new(post_id.as_str())
        .create(&PostsItem::Like(like.clone()))?
        .replace(post_id.as_str(), &PostsItem::Post(counting), &post.etag)?;
    match blog.posts.transact(transaction).await {
        Ok(etags) => Ok(created(&like, &etags[0])),
        Err(Refusal { operation: Some(0), error }) if error.reason == Reason::Conflict => {
            match blog.like(post_id, &author.user_id).await? {
                // Our own write, whose answer was lost.
                Some(stored) if stored.item.public.creation_date == now => {
                    Ok(created(&stored.item, &stored.etag))
                }
                Some(stored) => Ok(http::item(StatusCode::OK, &stored.item.public, &stored.etag)),
                None => Err(error.into()),
            }
        }
        Err(refusal) => Err(refusal.error.into()),
    }
}

fn created(like: &Like, etag: &ETag) -> Response {
    let public = &like.public;
    let location = format!("/api/posts/{}/likes/{}", public.post_id, public.user_id);
    http::created(&location, public, etag)
}
