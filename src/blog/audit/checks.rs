//! What the checks of a blog remember.

use quick_cache::sync::Cache;
use tributary_functions::{
    audit::{Slot, WindowChecks, read},
    cosmos::{StoreError, Stored},
    values::Timestamp,
};

use crate::blog::{
    Blog,
    model::{Author, PostId, PostsItem, UserId, UsersItem},
    projections::NewestPosts,
};

/// How many users and how many posts are remembered between two checks; some 200 bytes each.
const REMEMBERED: usize = 10_000;

/// Checks items. What it remembers of users and posts may be old: that can only raise a suspicion,
/// and a suspect is checked again with `fresh` reads.
pub(super) struct BlogChecks {
    pub(super) blog: Blog,
    pub(super) feed: WindowChecks<NewestPosts>,
    authors: Cache<UserId, KnownAuthor>,
    parents: Cache<PostId, Parent>,
}

/// What is known of a user.
#[derive(Debug, Clone)]
pub(super) enum KnownAuthor {
    Author(Author),
    Missing,
    /// There is a user who cannot be read.
    Unreadable,
}

/// What comments, likes and copies need to know of their post.
#[derive(Debug, Clone)]
pub(super) enum Parent {
    Live {
        user_id: UserId,
        created: Timestamp,
    },
    Gone,
    /// There is an item that cannot be read.
    Unreadable,
}

impl BlogChecks {
    /// The group of checks that is the feed.
    pub(super) const FEED: &'static str = "feed";

    pub(super) fn new(blog: Blog) -> Self {
        Self {
            feed: WindowChecks::new(Self::FEED, NewestPosts(blog.clone())),
            blog,
            authors: Cache::new(REMEMBERED),
            parents: Cache::new(REMEMBERED),
        }
    }

    /// Returns the name and version of a user.
    pub(super) async fn author(
        &self,
        user_id: &UserId,
        fresh: bool,
    ) -> Result<KnownAuthor, StoreError> {
        if !fresh && let Some(known) = self.authors.get(user_id) {
            return Ok(known);
        }
        let known = match read(&self.blog.users, user_id.as_str(), user_id.as_str()).await? {
            Slot::Item(Stored { item: UsersItem::User(user), .. }) => {
                KnownAuthor::Author(user.author())
            }
            Slot::Unreadable(_) => return Ok(KnownAuthor::Unreadable),
            Slot::Item(_) | Slot::Empty => KnownAuthor::Missing,
        };
        self.authors.insert(user_id.clone(), known.clone());
        Ok(known)
    }

    /// Returns what is known of a post.
    pub(super) async fn parent(&self, id: &PostId, fresh: bool) -> Result<Parent, StoreError> {
        if !fresh && let Some(known) = self.parents.get(id) {
            return Ok(known);
        }
        let parent = match read(&self.blog.posts, id.as_str(), id.as_str()).await? {
            Slot::Item(Stored { item, .. }) => parent_of(&item),
            Slot::Unreadable(_) => Parent::Unreadable,
            Slot::Empty => Parent::Gone,
        };
        self.parents.insert(id.clone(), parent.clone());
        Ok(parent)
    }

    /// Remembers a post that was read for its own sake.
    pub(super) fn remember(&self, id: &PostId, item: &PostsItem) {
        self.parents.insert(id.clone(), parent_of(item));
    }
}

fn parent_of(item: &PostsItem) -> Parent {
    match item {
        PostsItem::Post(post) => Parent::Live {
            user_id: post.public.user_id.clone(),
            created: post.public.creation_date,
        },
        PostsItem::DeletedPost(_) | PostsItem::Comment(_) | PostsItem::Like(_) => Parent::Gone,
    }
}
