//! Q5: `GET /posts/{postId}/likes`.

use axum::{Json, extract::State};
use tributary_functions::{
    engines::child_list::{ChildList, ListOrder, SortKey},
    http::{ApiError, List, PageRequest, Params},
};

use crate::{
    Blog,
    model::{PostId, PublicLike},
};

/// The list of a post's likes.
const LIKE_LIST: ChildList = ChildList {
    key: "postId",
    parent: "post",
    child: "like",
    types: "c.type >= @child",
    date: "creationDate",
    id_prefix: "",
    shape: "{id: c.id, postId: c.postId, userId: c.userId, userUsername: c.userUsername, \
             creationDate: c.creationDate}",
    order: ListOrder::NewestFirst,
};

/// Returns the likes of a post, newest first: one query in the post's logical partition.
pub async fn list_likes(
    State(blog): State<Blog>,
    Params(post_id): Params<PostId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicLike>>, ApiError> {
    let key = |like: &PublicLike| SortKey(like.creation_date, like.id.clone());
    page.of_children(&LIKE_LIST, &blog.posts, post_id.as_str(), key).await
}
