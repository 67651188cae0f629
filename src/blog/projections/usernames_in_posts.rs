//! A user's new name on the user's posts, comments and likes.

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;

use crate::{
    blog::{
        Blog,
        model::{Author, PostsItem, User, UsersItem},
        stores::UserSlot,
    },
    cosmos::{Container, ETag, Query, Reason, Scope, StoreError, Stored},
    projection::{Effect, Projection},
};

/// How many items are read at a time; a page of posts is at most 4 MB (service limit).
const PAGE: u32 = 100;

/// How many items are written at a time.
const WRITES: usize = 8;

/// Keeps the names in `posts` true to the users, after a rename.
///
/// It looks for items with an older name, in all partitions (a rename is rare, and the one change
/// that has to), until there are none. So it may be interrupted anywhere and goes on where it was.
/// What is created under the old name while it runs is the business of
/// [`super::PostsIntegrity`].
pub struct UsernamesInPosts(pub Blog);

impl Projection for UsernamesInPosts {
    const FUNCTION: &'static str = "UsernamesInPosts";
    const PARTITION_KEY: &'static str = "userId";
    /// One rename at a time: each fans out by itself.
    const CONCURRENCY: usize = 1;
    type Change = UsersItem;

    fn container(&self) -> &Container {
        &self.0.users
    }

    fn source(change: &UsersItem) -> Option<(String, u64)> {
        match change {
            // A user who was never renamed has no items with an older name.
            UsersItem::User(user) if user.version > 1 => {
                Some((user.user_id.to_string(), user.version))
            }
            _ => None,
        }
    }

    async fn apply(&self, change: &UsersItem) -> Result<Effect, StoreError> {
        let UsersItem::User(User { user_id, .. }) = change else {
            return Ok(Effect::Unchanged);
        };
        // The name is read again: it may be newer, and the host may have rewritten it.
        let UserSlot::User(user) = self.0.user_slot(user_id).await? else {
            return Ok(Effect::Unchanged);
        };
        let author = user.item.author();
        let mut effect = Effect::Unchanged;
        while rename_all(&self.0, &author).await? > 0 {
            effect = Effect::Applied;
        }
        Ok(effect)
    }
}

#[derive(Deserialize)]
struct Found {
    #[serde(flatten)]
    item: PostsItem,
    #[serde(rename = "_etag")]
    etag: String,
}

/// Goes once through all items of an author with an older name, and tells how many there were.
async fn rename_all(blog: &Blog, author: &Author) -> Result<usize, StoreError> {
    let query =
        Query::from("SELECT * FROM c WHERE c.userId = @userId AND c.usernameVersion < @version")
            .with_parameter("@userId", &author.user_id)?
            .with_parameter("@version", author.version)?;
    let mut pages = std::pin::pin!(blog.posts.pages::<Found>(query, Scope::Container, PAGE).await?);
    let mut renamed = 0;
    while let Some(page) = pages.try_next().await? {
        renamed += page.len();
        let writes = page.into_iter().map(async |Found { item, etag }| {
            let stored = Stored { item, etag: ETag::from(etag) };
            rename_item(blog, stored, author).await
        });
        stream::iter(writes).buffer_unordered(WRITES).try_for_each(async |_| Ok(())).await?;
    }
    Ok(renamed)
}

/// Puts an author's name on one of the author's items, unless it has that name or a newer one.
pub(super) async fn rename_item(
    blog: &Blog,
    mut stored: Stored<PostsItem>,
    author: &Author,
) -> Result<Effect, StoreError> {
    while let Some((id, partition, renamed)) = renamed(&stored.item, author) {
        match blog.posts.replace(&partition, &id, &renamed, &stored.etag).await {
            Ok(_) => return Ok(Effect::Applied),
            // Gone meanwhile, and its name with it.
            Err(error) if error.reason == Reason::NotFound => break,
            // Commented on, liked or edited meanwhile.
            Err(error) if error.is_race() => match blog.posts.read(&partition, &id).await? {
                Some(newer) => stored = newer,
                None => break,
            },
            Err(error) => return Err(error),
        }
    }
    Ok(Effect::Unchanged)
}

/// Id and partition key of an item, and the item under its author's name if its own is older.
/// Under the id of a deleted post there may be one of another author by now.
fn renamed(item: &PostsItem, author: &Author) -> Option<(String, String, PostsItem)> {
    let (id, post_id, user_id, version, renamed) = match item {
        PostsItem::Post(post) => {
            let public = &post.public;
            let renamed = PostsItem::Post(post.renamed(author));
            (public.id.clone(), &public.post_id, &public.user_id, post.username_version, renamed)
        }
        PostsItem::Comment(comment) => {
            let public = &comment.public;
            let renamed = PostsItem::Comment(comment.renamed(author));
            let id = public.id.to_string();
            (id, &public.post_id, &public.user_id, comment.username_version, renamed)
        }
        PostsItem::Like(like) => {
            let public = &like.public;
            let renamed = PostsItem::Like(like.renamed(author));
            (public.id.clone(), &public.post_id, &public.user_id, like.username_version, renamed)
        }
        PostsItem::DeletedPost(_) => return None,
    };
    let is_older = *user_id == author.user_id && version < author.version;
    is_older.then(|| (id, post_id.to_string(), renamed))
}
