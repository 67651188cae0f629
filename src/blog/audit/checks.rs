//! What the checks of a blog remember.

use tributary_functions::{
    audit::{Known, KnownItems, WindowChecks},
    cosmos::StoreError,
    values::Timestamp,
};

use crate::blog::{
    Blog,
    model::{Author, Post, PostId, PostsItem, User, UserId, UsersItem},
    projections::NewestPosts,
};

/// How many users and how many posts are remembered between two checks; some 200 bytes each.
const REMEMBERED: usize = 10_000;

/// Checks items.
pub(super) struct BlogChecks {
    pub(super) blog: Blog,
    pub(super) feed: WindowChecks<NewestPosts>,
    authors: KnownItems<UserId, Author>,
    parents: KnownItems<PostId, Parent>,
}

/// What comments, likes and copies need to know of their post.
#[derive(Debug, Clone)]
pub(super) struct Parent {
    pub(super) user_id: UserId,
    pub(super) created: Timestamp,
}

impl BlogChecks {
    /// The group of checks that is the feed.
    pub(super) const FEED: &'static str = "feed";

    pub(super) fn new(blog: Blog) -> Self {
        Self {
            feed: WindowChecks::new(Self::FEED, NewestPosts(blog.clone())),
            blog,
            authors: KnownItems::new(REMEMBERED),
            parents: KnownItems::new(REMEMBERED),
        }
    }

    pub(super) async fn author(
        &self,
        user_id: &UserId,
        fresh: bool,
    ) -> Result<Known<Author>, StoreError> {
        let place = (&self.blog.users, user_id.as_str(), user_id.as_str());
        let author = |item: UsersItem| User::try_from(item).ok().map(|user| user.author());
        self.authors.find(user_id, fresh, place, author).await
    }

    pub(super) async fn parent(
        &self,
        id: &PostId,
        fresh: bool,
    ) -> Result<Known<Parent>, StoreError> {
        let place = (&self.blog.posts, id.as_str(), id.as_str());
        let parent = |item: PostsItem| Post::try_from(item).ok().as_ref().map(Parent::new);
        self.parents.find(id, fresh, place, parent).await
    }

    /// Remembers a post, or that it is deleted, which was read for its own sake.
    pub(super) fn remember(&self, id: &PostId, post: Option<&Post>) {
        self.parents.remember(id, post.map(Parent::new));
    }
}

impl Parent {
    fn new(post: &Post) -> Self {
        Self { user_id: post.public.user_id.clone(), created: post.public.creation_date }
    }
}
