//! The posts in short form: in the partition of their author, for Q3, and the newest ones, all in
//! one logical partition, for Q6.

use tributary_functions::{
    prelude::*,
    projection::window::{Window, WindowProjection},
};

use crate::model::{Post, PostCopy, PostsItem, UserId, UsersItem};

pub type PostCopiesInUsers = CopyProjection<PostCopies>;

pub struct PostCopies;

impl Copies for PostCopies {
    const FUNCTION: &'static str = "PostCopiesInUsers";
    type Change = PostsItem;
    type Copy = UsersItem;

    fn copies_of(change: &PostsItem) -> Vec<VersionedCopy<UsersItem>> {
        let (deleted, live) = match change {
            PostsItem::Post(post) => (post.tombstone(), Some(post)),
            PostsItem::DeletedPost(deleted) => (deleted.clone(), None),
            PostsItem::Comment(_) | PostsItem::Like(_) => return Vec::new(),
        };
        let id = PostCopy::id_in_users(&deleted.post_id);
        let live = live.map(|post| (PostCopy::for_users(post).into(), post.version));
        let owner = (deleted.user_id.as_str(), deleted.version);
        VersionedCopy::of_owners(&id, (owner, live), &deleted.former_authors, |user, version| {
            let user_id = UserId::parse(user.to_owned()).ok()?;
            Some(deleted.copy(&id, user_id, version).into())
        })
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        matches!(change, PostsItem::Post(post) if post.may_be_rewritten())
    }
}

/// The projection that updates `feed`: exactly the 100 newest posts that exist.
pub type HomeFeed = WindowProjection<NewestPosts>;

/// The feed (seed article, request Q6).
pub struct NewestPosts;

impl Window for NewestPosts {
    const FUNCTION: &'static str = "HomeFeed";
    const CAPACITY: u32 = 100;
    const PARTITION: &'static str = "post";
    type Change = PostsItem;
    type Source = Post;
    type Copy = PostCopy;

    fn source(change: &PostsItem) -> Option<&Post> {
        if let PostsItem::Post(post) = change { Some(post) } else { None }
    }

    fn creation_date(post: &Post) -> Timestamp {
        post.public.creation_date
    }

    fn copy(post: &Post) -> PostCopy {
        PostCopy::for_feed(post)
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        PostCopies::may_be_rewritten(change)
    }
}
