//! Q4: `GET /posts/{postId}/comments`.

use axum::{Json, extract::State};

use super::children::{Children, SortKey};
use crate::{
    blog::{
        Blog,
        model::{PostId, PublicComment},
    },
    http::{ApiError, List, PageRequest, Params},
};

const COMMENTS: Children = Children {
    key: "postId",
    parent: "post",
    child: "comment",
    types: "c.type IN (@child, @parent)",
    shape: "{id: c.id, postId: c.postId, userId: c.userId, userUsername: c.userUsername, \
             content: c.content, creationDate: c.creationDate}",
    newest_first: false,
};

/// The comments on a post, oldest first: one query in the post's logical partition.
pub async fn list_comments(
    State(blog): State<Blog>,
    Params(post_id): Params<PostId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicComment>>, ApiError> {
    let key = |comment: &PublicComment| SortKey(comment.creation_date, comment.id.to_string());
    COMMENTS.list(&blog.posts, post_id.as_str(), page, key).await
}
