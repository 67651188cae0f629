//! C4: `PUT /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{
    blog::{
        Blog,
        model::{Like, PostId, PostsItem, UserId},
    },
    cosmos::{ETag, Reason, Refusal, Stored, Transaction, retry},
    http::{self, Actor, ApiError, Conditions, Params},
    values::Timestamp,
};

/// Creates a like and counts it, in one transaction: two store requests when nobody else writes to
/// the post, and one for a user who has not been seen lately. Liking again changes nothing.
pub async fn like_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    actor.must_be(user_id.as_str())?;
    let author = blog.author(&user_id).await?;
    let now = Timestamp::now();
    let attempt = async |answer_lost| {
        let post = blog.post(&post_id).await?;
        if !conditions.is_empty() {
            match blog.like(&post_id, &user_id).await? {
                Some(like) => return found(&like, now, &conditions, answer_lost),
                None => conditions.check(None)?,
            }
        }
        let counting = post.item.with_like();
        let like = Like::new(&counting, &author, now);
        let transaction = Transaction::new(post_id.as_str())
            .create(&PostsItem::Like(like.clone()))?
            .replace(post_id.as_str(), &PostsItem::Post(counting), &post.etag)?;
        match blog.posts.transact(transaction).await {
            Ok(etags) => Ok(created(&like, &etags[0])),
            Err(Refusal { operation: Some(0), error }) if error.reason == Reason::Conflict => {
                let answer_lost = answer_lost || error.answer_lost;
                match blog.like(&post_id, &user_id).await? {
                    Some(like) => found(&like, now, &conditions, answer_lost),
                    None => Err(error.into()),
                }
            }
            Err(refusal) => Err(refusal.error.into()),
        }
    };
    retry(attempt).await
}

/// The answer when the like is there already.
fn found(
    like: &Stored<Like>,
    now: Timestamp,
    conditions: &Conditions,
    answer_lost: bool,
) -> Result<Response, ApiError> {
    // An earlier try has created it.
    if answer_lost && like.item.public.creation_date == now {
        return Ok(created(&like.item, &like.etag));
    }
    conditions.check(Some(&like.etag))?;
    Ok(http::item(StatusCode::OK, &like.item.public, &like.etag))
}

fn created(like: &Like, etag: &ETag) -> Response {
    let public = &like.public;
    let location = format!("/api/posts/{}/likes/{}", public.post_id, public.user_id);
    http::created(&location, public, etag)
}
