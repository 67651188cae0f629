//! C2: `PUT /posts/{postId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, Reads, StoreError, Stored, retry},
    engines::{
        command::{self, Put},
        counted_children::{Edition, Request},
    },
    http::{
        self, Actor, ApiError, Conditions, DomainProblem, Form, FromForm, ItemResponse, JsonBody,
        Params,
    },
    projection::removal::{Remaining, remove_some},
    values::{CommandId, Timestamp},
};

use crate::blog::{
    Blog,
    leftovers::Leftovers,
    model::{Author, Post, PostContent, PostId, PostText, PostsItem, PublicPost, Title, UserId},
};

const OK: StatusCode = StatusCode::OK;

/// 503: the change feed is still removing the comments and likes of the post that had this id.
const REMOVAL_PENDING: DomainProblem = DomainProblem {
    status: StatusCode::SERVICE_UNAVAILABLE,
    slug: "removal-pending",
    title: "Removal pending",
    detail: "The removal of the deleted post with this id has not finished. Retry after the seconds in `Retry-After`.",
};

impl FromForm for PostText {
    fn from_form(form: &mut Form) -> Option<Self> {
        let user_id = form.text("userId", UserId::parse);
        let title = form.text("title", Title::parse);
        let content = form.text("content", PostContent::parse);
        Some(Self { user_id: user_id?, title: title?, content: content? })
    }
}

/// Creates a post or edits one: two store requests. An edit keeps the counts, since it replaces
/// the post only as it was read, by itself or by the group that it goes with.
pub async fn put_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(text): JsonBody<PostText>,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    actor.must_be(text.user_id.as_str())?;
    let wanted = Wanted { id, text, command, now: Timestamp::now() };
    retry(async |attempt: Attempt| {
        save(&blog.reading(attempt.reads), &wanted, &conditions, attempt).await
    })
    .await
}

/// The post as its author wants it.
struct Wanted {
    id: PostId,
    text: PostText,
    command: CommandId,
    now: Timestamp,
}

impl Wanted {
    fn post(&self, author: &Author) -> Post {
        Post::new(self.id.clone(), &self.text, author).created_at(self.now)
    }
}

impl command::Wanted<Post> for Wanted {
    fn has_created(&self, post: &Post) -> bool {
        // In the place of a tombstone, the date may be later than this clock.
        post.public.creation_date >= self.now
    }

    fn is(&self, post: &Post) -> bool {
        post.public.creation_date == self.now
            && post.public.user_id == self.text.user_id
            && post.has(&self.text)
    }
}

async fn save(
    blog: &Blog,
    wanted: &Wanted,
    conditions: &Conditions,
    attempt: Attempt,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    let Wanted { id, text, command, now } = wanted;
    match blog.post_slot(id).await?.put(command, attempt, wanted) {
        Put::Created(post) => Ok(created(&post.item.public, &post.etag)),
        Put::Edited(post) => Ok(http::item(OK, &post.item.public, &post.etag)),
        Put::Edit(post) => {
            conditions.check(Some(&post.etag))?;
            edit(blog, post, wanted, conditions, attempt.reads).await
        }
        Put::Create(None) => {
            conditions.check(None)?;
            let author = blog.author(&text.user_id).await?;
            let mut post = wanted.post(&author);
            if !conditions.is_empty() {
                post.recent.remember([command.clone()], *now);
            }
            create(blog, &post, None).await
        }
        Put::Create(Some(mark)) => {
            conditions.check(None)?;
            let author = blog.author(&text.user_id).await?;
            // What is left of the deleted post must not count for the new one: the change feed shows
            // the newest version only, and may never show the tombstone that goes now.
            let leftovers = Leftovers(&blog.posts);
            if remove_some(&leftovers, &mark.item).await? == Remaining::Some {
                return Err(ApiError::OfDomain(&REMOVAL_PENDING));
            }
            let mut post = wanted.post(&author).following(&mark.item);
            post.recent.remember([command.clone()], *now);
            create(blog, &post, Some(&mark.etag)).await
        }
    }
}

/// Edits a post in its turn among those who comment on it and like it, and does not compete with
/// them.
async fn edit(
    blog: &Blog,
    post: Stored<Post>,
    Wanted { id, text, command, .. }: &Wanted,
    conditions: &Conditions,
    reads: Reads,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    if post.item.public.user_id != text.user_id {
        return Err(ApiError::Conflict(
            "This post belongs to another user. Choose another id, or sign in as its author to change it.",
        ));
    }
    if post.item.has(text) {
        reads.confirmed()?;
        return Ok(http::item(OK, &post.item.public, &post.etag));
    }
    let if_match = Some(post.etag.clone()).filter(|_| conditions.name_a_state());
    let request = Request::new(command, reads).if_match(if_match).seen(post);
    match blog.reactions.edit(id, text.clone(), request).await? {
        Edition::Edited(post) => Ok(http::item(OK, &post.item.public, &post.etag)),
        // Deleted meanwhile: to be decided anew.
        Edition::NoParent => Err(StoreError::race(false).into()),
    }
}

/// Writes a new post, in the place of the mark of a deleted one when there is one.
pub(super) async fn create(
    blog: &Blog,
    post: &Post,
    mark: Option<&ETag>,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    let id = post.public.post_id.as_str();
    let etag = blog.posts.put(id, id, &PostsItem::Post(post.clone()), mark).await?;
    Ok(created(&post.public, &etag))
}

pub(super) fn created(post: &PublicPost, etag: &ETag) -> ItemResponse<PublicPost> {
    http::created(&format!("/api/posts/{}", post.post_id), post, etag)
}
