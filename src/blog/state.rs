//! Where the blog keeps its items.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use quick_cache::sync::Cache;
use tributary_functions::{
    cosmos::{Container, Cosmos, ETag, Reads, StoreError, Stored, confirm, containers},
    engines::{command::Place, counted_children::CountedChildren},
};

use super::{
    errors::BlogError,
    model::{
        Author, Comment, CommentId, DeletedPost, Like, NoUser, Post, PostId, PostsItem, User,
        UserId, UsersItem, like_id,
    },
    reactions::PostFamily,
};

/// How many authors are remembered; some 200 bytes each.
const AUTHORS_REMEMBERED: usize = 10_000;

/// How long an author is remembered. A rename made by another instance is copied into new items
/// under the old name for that long, and put right by the change feed.
const AUTHOR_AGE: Duration = Duration::from_secs(30);

/// The containers of the blog, and what is remembered of its authors. Cloning is cheap.
#[derive(Clone)]
pub struct Blog {
    /// Users, the reservations of their names, and copies of their posts.
    pub users: Container,
    /// Posts, comments and likes.
    pub posts: Container,
    /// The newest posts.
    pub feed: Container,
    /// Names of authors, so that a comment costs no read of its user. Being wrong is harmless: no
    /// user is ever deleted, and an old name carries its version, by which it is recognised.
    authors: Arc<Cache<UserId, (Author, Instant)>>,
    /// Creates, deletes and counts the comments and likes of posts.
    pub(super) reactions: CountedChildren<PostFamily>,
    /// What reads of the containers see.
    pub(super) reads: Reads,
}

/// What stands where a user would be.
pub(super) type UserSlot = Place<User, NoUser>;

/// What stands where a post would be.
pub(super) type PostSlot = Place<Post, DeletedPost>;

containers!(Blog: users, posts, feed);

impl Blog {
    /// The blog in a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let posts = cosmos.container("posts");
        Self {
            users: cosmos.container("users"),
            posts: posts.clone(),
            feed: cosmos.container("feed"),
            authors: Arc::new(Cache::new(AUTHORS_REMEMBERED)),
            reactions: CountedChildren::new(posts),
            reads: Reads::Session,
        }
    }

    /// The name and version of an author, as of at most half a minute ago, for a command that reads
    /// nothing else before: that there is no such user is confirmed.
    pub(super) async fn confirmed_author(&self, user_id: &UserId) -> Result<Author, BlogError> {
        confirm(async |reads| self.reading(reads).author(user_id).await).await
    }

    /// The name and version of an author, as of at most half a minute ago.
    pub(super) async fn author(&self, user_id: &UserId) -> Result<Author, BlogError> {
        if let Some((author, since)) = self.authors.get(user_id)
            && since.elapsed() < AUTHOR_AGE
        {
            return Ok(author);
        }
        match self.user_slot(user_id).await? {
            UserSlot::Live(user) => Ok(self.remember(&user.item)),
            UserSlot::Empty | UserSlot::Deleted(_) => Err(BlogError::NoUser),
        }
    }

    /// Remembers an author as of now.
    pub(super) fn remember(&self, user: &User) -> Author {
        let author = user.author();
        self.authors.insert(user.user_id.clone(), (author.clone(), Instant::now()));
        author
    }

    pub(super) async fn user_slot(&self, user_id: &UserId) -> Result<UserSlot, StoreError> {
        let stored = self.users.read(user_id.as_str(), user_id.as_str()).await?;
        Ok(match stored {
            Some(Stored { item: UsersItem::User(item), etag }) => {
                UserSlot::Live(Stored { item, etag })
            }
            Some(Stored { item: UsersItem::NoUser(item), etag }) => {
                UserSlot::Deleted(Stored { item, etag })
            }
            _ => UserSlot::Empty,
        })
    }

    pub(super) async fn write_user(
        &self,
        user: &User,
        read: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        let id = user.user_id.as_str();
        self.users.put(id, id, &UsersItem::User(user.clone()), read).await
    }

    pub(super) async fn post_slot(&self, post_id: &PostId) -> Result<PostSlot, StoreError> {
        post_slot(&self.posts, post_id).await
    }

    /// A post that exists.
    pub(super) async fn post(&self, post_id: &PostId) -> Result<Stored<Post>, BlogError> {
        match self.post_slot(post_id).await? {
            PostSlot::Live(post) => Ok(post),
            PostSlot::Empty | PostSlot::Deleted(_) => Err(BlogError::NoPost),
        }
    }

    pub(super) async fn comment(
        &self,
        post_id: &PostId,
        comment_id: &CommentId,
    ) -> Result<Option<Stored<Comment>>, StoreError> {
        let stored = self.posts.read(post_id.as_str(), comment_id.as_str()).await?;
        Ok(match stored {
            Some(Stored { item: PostsItem::Comment(item), etag }) => Some(Stored { item, etag }),
            _ => None,
        })
    }

    pub(super) async fn like(
        &self,
        post_id: &PostId,
        user_id: &UserId,
    ) -> Result<Option<Stored<Like>>, StoreError> {
        let stored = self.posts.read(post_id.as_str(), &like_id(user_id)).await?;
        Ok(match stored {
            Some(Stored { item: PostsItem::Like(item), etag }) => Some(Stored { item, etag }),
            _ => None,
        })
    }
}

/// What stands where a post would be, in the container of posts.
pub(super) async fn post_slot(posts: &Container, post_id: &PostId) -> Result<PostSlot, StoreError> {
    let stored = posts.read(post_id.as_str(), post_id.as_str()).await?;
    Ok(match stored {
        Some(Stored { item: PostsItem::Post(item), etag }) => PostSlot::Live(Stored { item, etag }),
        Some(Stored { item: PostsItem::DeletedPost(item), etag }) => {
            PostSlot::Deleted(Stored { item, etag })
        }
        _ => PostSlot::Empty,
    })
}
