//! The containers and caches of the blog.

use std::{sync::Arc, time::Duration};

use quick_cache::sync::Cache;
use tributary_functions::{
    cosmos::{Container, Cosmos, ETag, ReadResult, Reads, StoreError, Stored, containers},
    engines::{command::ItemSlot, counted_children::CountedChildren},
    http::ApiError,
    values::{Clock, Timestamp},
};

use super::{
    model::{Author, DeletedPost, NoUser, Post, PostId, PostsItem, User, UserId, UsersItem},
    reactions::PostFamily,
};

/// The most authors that are remembered; some 200 bytes each.
const MAX_REMEMBERED_AUTHORS: usize = 10_000;

/// The longest age of a remembered author. For that long, new items may get the old name after a
/// rename by another instance; the change feed repairs them.
const MAX_AUTHOR_AGE: Duration = Duration::from_secs(30);

/// The containers of the blog, and the cache of its authors. Cloning is cheap.
#[derive(Clone)]
pub struct Blog {
    /// Users, the reservations of their names, and copies of their posts.
    pub users: Container,
    pub posts: Container,
    /// The newest posts.
    pub feed: Container,
    /// The names of authors, so that a comment costs no read of its user. A wrong name is harmless: no
    /// user is ever deleted, and the version of an old name shows that it is old.
    authors: Arc<Cache<UserId, (Author, Timestamp)>>,
    /// Tells the age of the names.
    pub(super) clock: Clock,
    /// Creates, deletes and counts the comments and likes of posts.
    pub(super) reactions: CountedChildren<PostFamily>,
    pub(super) reads: Reads,
}

pub(super) type UserSlot = ItemSlot<User, NoUser>;

pub(super) type PostSlot = ItemSlot<Post, DeletedPost>;

containers!(Blog: users, posts, feed);

impl Blog {
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let posts = cosmos.container("posts");
        Self {
            users: cosmos.container("users"),
            posts: posts.clone(),
            feed: cosmos.container("feed"),
            authors: Arc::new(Cache::new(MAX_REMEMBERED_AUTHORS)),
            clock: Clock::default(),
            reactions: CountedChildren::new(posts),
            reads: Reads::Session,
        }
    }

    /// Returns the name and version of an author, as of at most half a minute ago.
    pub(super) async fn author(&self, user_id: &UserId) -> Result<Author, ApiError> {
        if let Some((author, since)) = self.authors.get(user_id)
            && (since..since.after(MAX_AUTHOR_AGE)).contains(&self.clock.now())
        {
            return Ok(author);
        }
        let user = self.user_slot(user_id).await?.live().ok_or(ApiError::NotFound("user"))?;
        Ok(self.remember(&user.item))
    }

    pub(super) fn remember(&self, user: &User) -> Author {
        let author = user.author();
        self.authors.insert(user.user_id.clone(), (author.clone(), self.clock.now()));
        author
    }

    pub(super) async fn user_slot(&self, user_id: &UserId) -> Result<UserSlot, StoreError> {
        let id = user_id.as_str();
        Ok(UserSlot::from_item(self.users.read::<UsersItem>(id, id).await?))
    }

    /// Writes a user over the item with the ETag `read`; creates it without one.
    pub(super) async fn write_user(
        &self,
        user: &User,
        read: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        let id = user.user_id.as_str();
        self.users.put(id, id, &UsersItem::from(user.clone()), read).await
    }

    pub(super) async fn post_slot(&self, post_id: &PostId) -> Result<PostSlot, StoreError> {
        let id = post_id.as_str();
        Ok(PostSlot::from_item(self.posts.read::<PostsItem>(id, id).await?))
    }

    pub(super) async fn post(&self, post_id: &PostId) -> Result<Stored<Post>, ApiError> {
        self.post_slot(post_id).await?.live().ok_or(ApiError::NotFound("post"))
    }

    pub(super) async fn reaction<T: TryFrom<PostsItem>>(
        &self,
        post_id: &PostId,
        id: &str,
    ) -> ReadResult<T> {
        let stored = self.posts.read::<PostsItem>(post_id.as_str(), id).await?;
        Ok(stored.and_then(Stored::of_type))
    }

    /// Returns the comment or the like with this id, if its post exists: two point reads.
    pub(super) async fn live_reaction<T: TryFrom<PostsItem>>(
        &self,
        post_id: &PostId,
        id: &str,
    ) -> Result<Option<Stored<T>>, ApiError> {
        let reaction = async { Ok(self.reaction(post_id, id).await?) };
        let (_, reaction) = futures::try_join!(self.post(post_id), reaction)?;
        Ok(reaction)
    }
}
