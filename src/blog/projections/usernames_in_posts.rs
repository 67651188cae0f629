//! A user's new name on the user's posts, comments and likes.

use std::{pin::pin, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::{
    blog::{
        Blog,
        model::{Author, PostsItem, Renaming, User, UserId, UsersItem},
        usernames::release,
    },
    cosmos::{Container, ETag, Query, Reason, Scope, StoreError, Stored},
    projection::{Background, Delivered, Effect, Projection},
};

/// How many items are read at a time; a page of posts is at most 4 MB (service limit).
const PAGE: u32 = 100;

/// How many items are written at a time.
const WRITES: usize = 8;

/// How many retries an item gets in one delivery: some 0.4 s.
const RETRIES: usize = 8;

/// Keeps the names in `posts` true to the users, after a rename, and sees that the old name is free.
///
/// It looks for items with an older name, in all partitions (a rename is rare, and the one change
/// that has to), until there are none. So it may be interrupted anywhere and goes on where it was.
/// What is created under the old name while it runs is the business of
/// [`super::PostsIntegrity`].
///
/// A rename may have any number of items. It spends no more request units a second than it may, and
/// stores have low priority for it. When its slice of time is over and items are left, it writes a
/// [`Renaming`] mark to `users`, and only then is the change acknowledged: the change feed delivers
/// the mark behind everything that has come meanwhile, so a rename of a hundred thousand items
/// holds up no other. Every slice renames some items unless the budget is spent by others, and the
/// last one writes no mark, so that ends.
///
/// The user is read in the delivered version or a newer one, and the items in their latest committed
/// state. An item that a stale query missed would be seen by nobody: its own change may have been
/// compared with the user before the rename.
pub struct UsernamesInPosts {
    blog: Blog,
    background: Background,
}

impl UsernamesInPosts {
    /// The projection of a blog.
    pub fn new(blog: &Blog, background: &Background) -> Self {
        Self { blog: blog.in_background(), background: background.clone() }
    }
}

impl Projection for UsernamesInPosts {
    const FUNCTION: &'static str = "UsernamesInPosts";
    const PARTITION_KEY: &'static str = "userId";
    /// Few renames at a time: each fans out by itself, and they share one budget.
    const CONCURRENCY: usize = 4;
    type Change = UsersItem;

    fn container(&self) -> &Container {
        &self.blog.users
    }

    fn source(change: &UsersItem) -> Option<(String, u64)> {
        // A user who was never renamed has no items with an older name.
        let (user_id, version) = of(change).filter(|(_, version)| *version > 1)?;
        Some((user_id.to_string(), version))
    }

    async fn apply(&self, change: &UsersItem) -> Result<Effect, StoreError> {
        let deadline = self.background.deadline();
        let pacer = &self.background.pacer;
        let Some((user_id, version)) = of(change) else {
            return Ok(Effect::Unchanged);
        };
        // The name is read again: it may be newer, and the host may have rewritten it.
        let (place, version_of) = ((user_id.as_str(), user_id.as_str()), |item: &UsersItem| {
            if let UsersItem::User(user) = item { Some(user.version) } else { None }
        });
        let read = Delivered(version).read(&self.blog.users, place, version_of);
        let Some(Stored { item: UsersItem::User(user), .. }) = pacer.charge(read).await? else {
            return Ok(Effect::Unchanged);
        };
        for former in &user.former {
            pacer.charge(release(&self.blog, former)).await?;
        }
        let author = user.author();
        let mut effect = Effect::Unchanged;
        loop {
            match self.rename_all(&author, deadline).await? {
                Pass::Empty => return Ok(effect),
                Pass::Complete if Instant::now() < deadline => effect = Effect::Applied,
                Pass::Complete | Pass::OutOfTime => {
                    self.go_on_later(&author).await?;
                    return Ok(Effect::Applied);
                }
            }
        }
    }
}

/// Who was renamed, and in which version. The mark of a rename and the rename itself ask for the
/// same, so one of them in a batch is enough.
fn of(change: &UsersItem) -> Option<(&UserId, u64)> {
    match change {
        UsersItem::User(User { user_id, version, .. })
        | UsersItem::Renaming(Renaming { user_id, version, .. }) => Some((user_id, *version)),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Found {
    #[serde(flatten)]
    item: PostsItem,
    #[serde(rename = "_etag")]
    etag: String,
}

/// What has come of going once through the items of an author with an older name.
enum Pass {
    /// There were none.
    Empty,
    /// It was at all of them.
    Complete,
    /// There may be more of them.
    OutOfTime,
}

impl UsernamesInPosts {
    async fn rename_all(&self, author: &Author, deadline: Instant) -> Result<Pass, StoreError> {
        let query = Query::from(
            "SELECT * FROM c WHERE c.userId = @userId AND c.usernameVersion < @version",
        )
        .with_parameter("@userId", &author.user_id)?
        .with_parameter("@version", author.version)?;
        let posts = self.blog.posts.latest_committed();
        let pages = posts.pages::<Found>(query, Scope::Container, PAGE).await?;
        let mut pages = pin!(pages);
        let (mut seen, mut contested) = (0, None);
        loop {
            let page = match self.background.pacer.run(deadline, pages.try_next()).await {
                Some(page) => page?,
                None => return Ok(Pass::OutOfTime),
            };
            let Some(page) = page else {
                return match contested {
                    Some(lost_race) => Err(lost_race),
                    None if seen == 0 => Ok(Pass::Empty),
                    None => Ok(Pass::Complete),
                };
            };
            let writes = (seen..).zip(page).map(async |(n, Found { item, etag })| {
                // The first is tried however late it is, so that every slice gets on.
                if n > 0 && Instant::now() >= deadline {
                    return Ok(false);
                }
                let stored = Stored { item, etag: ETag::from(etag) };
                let renaming = rename_item(&self.blog, stored, author);
                self.background
                    .pacer
                    .run(deadline, renaming)
                    .await
                    .transpose()
                    .map(|done| done.is_some())
            });
            let mut writes = stream::iter(writes).buffer_unordered(WRITES);
            let mut all_in_time = true;
            // Also when time is over: what has begun ends.
            while let Some(written) = writes.next().await {
                seen += 1;
                match written {
                    Ok(in_time) => all_in_time &= in_time,
                    // Others write this item all the time: the rest does not wait for it.
                    Err(error) if error.is_race() => contested = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if !all_in_time {
                return Ok(Pass::OutOfTime);
            }
        }
    }

    async fn go_on_later(&self, author: &Author) -> Result<(), StoreError> {
        let mark = UsersItem::Renaming(Renaming::to(author));
        let partition = author.user_id.as_str();
        self.background
            .pacer
            .charge(self.blog.users.upsert(partition, Renaming::ID, &mark))
            .await?;
        tracing::info!(user.id = partition, "A rename goes on with the next delivery");
        Ok(())
    }
}

/// Puts an author's name on one of the author's items, unless it has that name or a newer one.
///
/// Where others write the item all the time, this is a lost race after a few attempts, with back-off
/// and jitter between them: the change is applied again later.
pub(super) async fn rename_item(
    blog: &Blog,
    mut stored: Stored<PostsItem>,
    author: &Author,
) -> Result<Effect, StoreError> {
    let mut pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(64))
        .with_max_times(RETRIES)
        .with_jitter()
        .build();
    while let Some((id, partition, renamed)) = renamed(&stored.item, author) {
        let lost_race = match blog.posts.replace(&partition, &id, &renamed, &stored.etag).await {
            Ok(_) => return Ok(Effect::Applied),
            // Gone meanwhile, and its name with it.
            Err(error) if error.reason == Reason::NotFound => break,
            // Commented on, liked or edited meanwhile.
            Err(error) if error.is_race() => error,
            Err(error) => return Err(error),
        };
        sleep(pauses.next().ok_or(lost_race)?).await;
        match blog.posts.latest_committed().read(&partition, &id).await? {
            Some(newer) => stored = newer,
            None => break,
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
