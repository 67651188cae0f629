//! C2: `PUT /posts/{postId}`.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{
    blog::{
        Blog,
        model::{Author, Post, PostContent, PostId, PostText, PostsItem, Title, UserId},
        projections::{PostCopiesInUsers, remove_reactions},
        stores::PostSlot,
    },
    cosmos::{ETag, Stored, retry},
    http::{self, Actor, ApiError, Conditions, Form, FromForm, JsonBody, Params},
    projection::Projection,
    values::Timestamp,
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
/// the post only as it was read.
pub async fn put_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    conditions: Conditions,
    JsonBody(text): JsonBody<PostText>,
) -> Result<Response, ApiError> {
    actor.must_be(text.user_id.as_str())?;
    let wanted = Wanted { id, text, now: Timestamp::now() };
    retry(|answer_lost| save(&blog, &wanted, &conditions, answer_lost)).await
}

/// The post as its author wants it.
struct Wanted {
    id: PostId,
    text: PostText,
    now: Timestamp,
}

impl Wanted {
    fn post(&self, author: &Author) -> Post {
        Post::new(self.id.clone(), &self.text, author).created_at(self.now)
    }

    /// Whether this is the post that an earlier try has created.
    fn is(&self, post: &Post) -> bool {
        post.public.creation_date == self.now
            && post.public.user_id == self.text.user_id
            && post.edited(&self.text).is_none()
    }
}

async fn save(
    blog: &Blog,
    wanted: &Wanted,
    conditions: &Conditions,
    answer_lost: bool,
) -> Result<Response, ApiError> {
    let Wanted { id, text, .. } = wanted;
    match blog.post_slot(id).await? {
        PostSlot::Post(post) if answer_lost && wanted.is(&post.item) => {
            Ok(created(&post.item, &post.etag))
        }
        PostSlot::Post(post) => {
            conditions.check(Some(&post.etag))?;
            edit(blog, post, text).await
        }
        PostSlot::Empty => {
            conditions.check(None)?;
            let author = blog.author(&text.user_id).await?;
            create(blog, &wanted.post(&author), None).await
        }
        PostSlot::Deleted(mark) => {
            conditions.check(None)?;
            let author = blog.author(&text.user_id).await?;
            // What is left of the deleted post must not count for the new one, nor stay with an
            // earlier author: the change feed shows the newest version only, and may never show
            // the mark that goes now.
            remove_reactions(blog, id, mark.item.version).await?;
            if mark.item.user_id != text.user_id {
                let change = PostsItem::DeletedPost(mark.item.clone());
                PostCopiesInUsers(blog.clone()).apply(&change).await?;
            }
            let post = wanted.post(&author).following(&mark.item);
            create(blog, &post, Some(&mark.etag)).await
        }
    }
}

async fn edit(blog: &Blog, post: Stored<Post>, text: &PostText) -> Result<Response, ApiError> {
    if post.item.public.user_id != text.user_id {
        return Err(ApiError::Conflict("This post belongs to another user."));
    }
    let Some(edited) = post.item.edited(text) else {
        return Ok(http::item(StatusCode::OK, &post.item.public, &post.etag));
    };
    let id = post.item.public.post_id.as_str();
    let etag = blog.posts.replace(id, id, &PostsItem::Post(edited.clone()), &post.etag).await?;
    Ok(http::item(StatusCode::OK, &edited.public, &etag))
}

/// Writes a new post, in the place of the mark of a deleted one when there is one.
pub(super) async fn create(
    blog: &Blog,
    post: &Post,
    mark: Option<&ETag>,
) -> Result<Response, ApiError> {
    let id = post.public.post_id.as_str();
    let etag = blog.posts.put(id, id, &PostsItem::Post(post.clone()), mark).await?;
    Ok(created(post, &etag))
}

pub(super) fn created(post: &Post, etag: &ETag) -> Response {
    http::created(&format!("/api/posts/{}", post.public.post_id), &post.public, etag)
}
