//! C2: posts.

use tributary_functions::{
    http::{KEY_USED, Refusal},
    prelude::*,
    projection::removal::remove_some,
};

use crate::{
    Blog,
    model::{Post, PostId, PostText, PublicPost},
};

/// Creates a post under an id of the server: one store request, one for the copy of its author, and one more
/// if the name of the author is not remembered. The id of a request with a key is made from the key and the
/// author.
pub async fn create_post(
    State(blog): State<Blog>,
    actor: Actor,
    key: Option<IdempotencyKey>,
    JsonBody(text): JsonBody<PostText>,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    actor.must_be(text.user_id.as_str())?;
    let id = new_id(key.as_ref(), &format!("post {}", text.user_id))?;
    let author = blog.author(&text.user_id).await?;
    let mut post = Post::new(id, &text, &author);
    post.request = key.map(|_| text.digest());
    let written = retry(async |_| match create(&blog, post.clone(), None).await {
        // Without a key the id is unique. So this item is this command's own write, whose response was lost.
        Err(ApiError::Store(error)) if error.reason == Reason::Conflict => {
            let id = &post.public.post_id;
            let slot = blog.posts.latest_committed().slot::<Post>(id, id).await?;
            if matches!(slot, ItemSlot::Deleted(_)) {
                return Err(ApiError::Conflict(
                    "The post of this Idempotency-Key was deleted. Use another key to create a new one.",
                ));
            }
            slot.live().map(WrittenItem::created).ok_or(ApiError::Store(error))
        }
        result => result,
    });
    let written = written.await?;
    if written.stored.item.request != post.request {
        return Err(KEY_USED);
    }
    Ok(written.answer(&written.stored.item.public, location))
}

/// Returns the refusal while the change feed removes the comments and likes of the post that had this id.
fn removal_pending() -> Refusal {
    const DETAIL: &str = "The removal of the deleted post with this id has not finished. Retry after the seconds in `Retry-After`.";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "removal-pending", "Removal pending", DETAIL)
}

const TOO_MANY_AUTHORS: ApiError = ApiError::Conflict(
    "Posts with this id had too many authors in the last 30 days. Choose another id.",
);

/// Creates a post or edits one: two store requests, and one or two for the copy of its author. An edit keeps the counts: it replaces only the
/// state that was read, by itself or by the group commit that it is part of.
pub async fn put_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    command: ItemCommand,
    JsonBody(text): JsonBody<PostText>,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    actor.must_be(text.user_id.as_str())?;
    let put = PutPost { id, text, command, now: Timestamp::now() };
    retry(async |attempt: Attempt| {
        let written = put.save(&blog, attempt).await?;
        Ok(written.answer(&written.stored.item.public, location))
    })
    .await
}

struct PutPost {
    id: PostId,
    text: PostText,
    command: ItemCommand,
    now: Timestamp,
}

impl PutPost {
    async fn save(&self, blog: &Blog, attempt: Attempt) -> Result<WrittenItem<Post>, ApiError> {
        let slot = blog.posts.slot(&self.id, &self.id).await?;
        let tombstone = match self.command.put(slot, attempt, self)? {
            PutStep::Done(written) => return Ok(written),
            PutStep::Edit(post) => return self.edit(blog, post).await,
            PutStep::Create(tombstone) => tombstone,
        };
        let author = blog.author(&self.text.user_id).await?;
        let post = Post::new(self.id.clone(), &self.text, &author).created_at(self.now);
        let Some(tombstone) = tombstone else {
            return create(blog, self.command.sign(post), None).await;
        };
        // The comments and likes of the deleted post must not count for the new one. The change feed
        // shows the newest version only, so it may never deliver the tombstone that is replaced here.
        if !remove_some(blog, &tombstone.item).await? {
            return Err(removal_pending().into());
        }
        let post = post.over(&tombstone.item).ok_or(TOO_MANY_AUTHORS)?;
        let post = post.remembering(&self.command.id);
        create(blog, post, Some(&tombstone.etag)).await
    }

    /// Edits a post together with new comments and likes, so that it does not compete with them.
    async fn edit(&self, blog: &Blog, post: Stored<Post>) -> Result<WrittenItem<Post>, ApiError> {
        let Self { id, text, command, .. } = self;
        if post.item.public.user_id != text.user_id {
            return Err(ApiError::Conflict(
                "This post belongs to another user. Choose another id, or sign in as its author to change it.",
            ));
        }
        let edited = blog.reactions.edit(id, text.clone(), command.edit_request(post)).await?;
        // A post that was deleted meanwhile is decided upon anew.
        Ok(WrittenItem::edited(edited.ok_or_else(|| StoreError::race(false))?))
    }
}

impl DesiredItem<Post> for PutPost {
    fn has_created(&self, post: &Post) -> bool {
        // A post that replaces a tombstone may have a date after `now`.
        post.public.creation_date >= self.now
    }

    fn matches_new(&self, post: &Post) -> bool {
        post.public.creation_date == self.now && self.is_satisfied_by(post)
    }

    fn is_satisfied_by(&self, post: &Post) -> bool {
        post.public.user_id == self.text.user_id && post.has_text(&self.text)
    }
}

pub(super) async fn create(
    blog: &Blog,
    post: Post,
    tombstone: Option<&ETag>,
) -> Result<WrittenItem<Post>, ApiError> {
    Ok(WrittenItem::created(blog.posts.save(post, tombstone).await?))
}

pub(super) fn location(post: &Post) -> String {
    format!("/api/posts/{}", post.public.post_id)
}

/// Deletes a post: two store requests. A tombstone replaces the post, and hides its comments and
/// likes from all readers at once. The change feed delivers the tombstone, to remove them and the
/// copies.
pub async fn delete_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = blog.posts.slot::<Post>(&id, &id).await?;
        let Some(post) = command.delete(slot, "post")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        actor.must_be(post.item.public.user_id.as_str())?;
        command.conditions.check(Some(&post.etag))?;
        blog.posts.save(post.item.deleted(&command.id), Some(&post.etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
