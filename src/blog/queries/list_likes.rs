//! Q5: `GET /posts/{postId}/likes`.

use axum::{Json, extract::State};

use super::children::{Children, SortKey};
use crate::{
    blog::{
        Blog,
        model::{PostId, PublicLike},
    },
    http::{ApiError, List, PageRequest, Params},
};

const LIKES: Children = Children {
    key: "postId",
    parent: "post",
    child: "like",
    types: "c.type >= @child",
    shape: "{id: c.id, postId: c.postId, userId: c.userId, userUsername: c.userUsername, \
             creationDate: c.creationDate}",
    newest_first: true,
};

/// The likes of a post, newest first: one query in the post's logical partition.
pub async fn list_likes(
    State(blog): State<Blog>,
    Params(post_id): Params<PostId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicLike>>, ApiError> {
    let key = |like: &PublicLike| SortKey(like.creation_date, like.id.clone());
    LIKES.list(&blog.posts, post_id.as_str(), page, key).await
}
