//! The queries: each is one store request in one logical partition, or two where it proves a parent.

use tributary_functions::{
    http::{found, limit_of},
    prelude::*,
    projection::window::Window,
};

use crate::{
    Blog,
    model::{
        Comment, CommentId, Like, PostCopy, PostId, PublicComment, PublicLike, PublicPost,
        PublicUser, User, UserId, like_id,
    },
    projections::NewestPosts,
};

/// Returns a user: one point read.
pub async fn get_user(
    State(blog): State<Blog>,
    Params(id): Params<UserId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let user = blog.users.item::<User>(&id, &id).await?.ok_or(ApiError::NotFound("user"))?;
    Ok(found(&conditions, &user.item.public, &user.etag))
}

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

/// Returns a post with its author's name and its counts: one point read.
pub async fn get_post(
    State(blog): State<Blog>,
    Params(id): Params<PostId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    let post = blog.post(&id).await?;
    Ok(found(&conditions, &post.item.public, &post.etag))
}

/// Returns the newest posts, at most 100: one query in one logical partition. The copies in the
/// feed have the public form of posts, so the answer has them unchanged.
pub async fn get_feed(
    State(blog): State<Blog>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<PublicPost>, ApiError> {
    let limit = limit_of(query.as_deref(), NewestPosts::CAPACITY)?;
    // The head of the feed and the tombstones have no creation date. The store's own properties of
    // each item would be a third of the result.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.postId, c.userId, c.userUsername, c.title, c.content, \
         c.commentCount, c.likeCount, c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
    );
    let query = query.with_parameter("@limit", limit)?;
    let scope = Scope::Partition(NewestPosts::PARTITION);
    Ok(blog.feed.query(query, scope, limit).await?.into())
}

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

/// Returns a comment: two point reads.
pub async fn get_comment(
    State(blog): State<Blog>,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicComment>, ApiError> {
    let comment = blog.live_reaction::<Comment>(&post_id, comment_id.as_str(), "comment").await?;
    Ok(found(&conditions, &comment.item.public, &comment.etag))
}

/// Returns a like: two point reads.
pub async fn get_like(
    State(blog): State<Blog>,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    let like = blog.live_reaction::<Like>(&post_id, &like_id(&user_id), "like").await?;
    Ok(found(&conditions, &like.item.public, &like.etag))
}

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
