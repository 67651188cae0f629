//! Q4: `GET /posts/{postId}/comments`.

use axum::{Json, extract::State};
use tributary_functions::{
    engines::child_list::{ChildList, ListOrder, SortKey},
    http::{ApiError, List, PageRequest, Params},
};

use crate::{
    Blog,
    model::{PostId, PublicComment},
};

/// The list of a post's comments.
const COMMENT_LIST: ChildList = ChildList {
    key: "postId",
    parent: "post",
    child: "comment",
    types: "c.type IN (@child, @parent)",
    date: "creationDate",
    id_prefix: "",
    shape: "{id: c.id, postId: c.postId, userId: c.userId, userUsername: c.userUsername, \
             content: c.content, creationDate: c.creationDate}",
    order: ListOrder::OldestFirst,
};

/// Returns the comments on a post, oldest first: one query in the post's logical partition.
pub async fn list_comments(
    State(blog): State<Blog>,
    Params(post_id): Params<PostId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicComment>>, ApiError> {
    let key = |comment: &PublicComment| SortKey(comment.creation_date, comment.id.to_string());
    page.of_children(&COMMENT_LIST, &blog.posts, post_id.as_str(), key).await
}
