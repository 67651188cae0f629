//! The containers and caches of the blog.

use std::{sync::Arc, time::Duration};

use quick_cache::sync::Cache;
use tributary_functions::{cosmos::containers, prelude::*, values::Clock};

use super::{
    model::{Author, Post, PostId, PostsItem, User, UserId},
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
}

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
        }
    }

    /// Returns the name and version of an author, as of at most half a minute ago.
    pub(super) async fn author(&self, user_id: &UserId) -> Result<Author, ApiError> {
        if let Some((author, since)) = self.authors.get(user_id)
            && (since..since.after(MAX_AUTHOR_AGE)).contains(&self.clock.now())
        {
            return Ok(author);
        }
        let user = self.users.item::<User>(user_id, user_id).await?;
        Ok(self.remember(&user.ok_or(ApiError::NotFound("user"))?.item))
    }

    pub(super) fn remember(&self, user: &User) -> Author {
        let author = user.author();
        self.authors.insert(user.user_id.clone(), (author.clone(), self.clock.now()));
        author
    }

    pub(super) async fn post(&self, id: &PostId) -> Result<Stored<Post>, ApiError> {
        self.posts.item(id, id).await?.ok_or(ApiError::NotFound("post"))
    }

    /// Returns the comment or the like with this id, whose post exists: two point reads.
    pub(super) async fn live_reaction<T: ContainerItem<Items = PostsItem>>(
        &self,
        post_id: &PostId,
        id: &str,
        name: &'static str,
    ) -> Result<Stored<T>, ApiError> {
        let reaction = async { Ok(self.posts.item(post_id, id).await?) };
        let (_, reaction) = futures::try_join!(self.post(post_id), reaction)?;
        reaction.ok_or(ApiError::NotFound(name))
    }
}
