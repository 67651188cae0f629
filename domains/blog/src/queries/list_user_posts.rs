//! Q3: `GET /users/{userId}/posts`.

use axum::{Json, extract::State};
use tributary_functions::{
    engines::child_list::{ChildList, ListOrder, SortKey},
    http::{ApiError, List, PageRequest, Params},
};

use crate::{
    Blog,
    model::{PostCopy, PublicPost, UserId},
};

/// The list of a user's posts in short form.
const POST_LIST: ChildList = ChildList {
    key: "userId",
    parent: "user",
    child: "post",
    types: "c.type >= @child",
    date: "creationDate",
    id_prefix: "post:",
    shape: "{id: c.postId, postId: c.postId, userId: c.userId, userUsername: c.userUsername, \
             title: c.title, content: c.content, commentCount: c.commentCount, \
             likeCount: c.likeCount, creationDate: c.creationDate}",
    order: ListOrder::NewestFirst,
};

/// Returns a user's posts in short form, newest first: one query in the user's logical partition.
pub async fn list_user_posts(
    State(blog): State<Blog>,
    Params(user_id): Params<UserId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicPost>>, ApiError> {
    let key = |post: &PublicPost| SortKey(post.creation_date, PostCopy::id_in_users(&post.post_id));
    page.of_children(&POST_LIST, &blog.users, user_id.as_str(), key).await
}
