//! Mending what was found, with the guards that commands and projections use.
//!
//! Each write is made under the ETag, or the absence, of what it replaces. A copy is read before
//! its source, so what is written is never older than what it replaces; whoever writes in between
//! makes the write fail, and then everything is looked at again.

use std::time::Duration;

use super::{
    finding::{Kind, Repair, Suspect, Target},
    look::{Looker, Slot, read},
    settle::patiently,
};
use crate::{
    blog::{
        commands::take_name,
        model::{Author, Post, PostCopy, PostId, PostsItem, Reservation, UserId, UsersItem},
        projections::remove_some,
        stores::{PostSlot, UserSlot},
        usernames::free,
    },
    cosmos::{ETag, Reason, StoreError, Stored},
    http::ApiError,
};

/// How often a repair that lost a race is begun again.
const TRIES: usize = 10;

/// The pause before that.
const BREATH: Duration = Duration::from_millis(20);

/// Why a repair did nothing.
pub(super) enum Obstacle {
    /// Somebody else has written: look again.
    Race,
    /// No program can decide this.
    ForAPerson(&'static str),
    Store(StoreError),
}

/// What was done, in words.
pub(super) type Deed = Result<&'static str, Obstacle>;

/// Mends one divergence, and looks whether it is gone. One that is another by now, since somebody
/// has written, perhaps another repair, is mended as it is: each write is guarded.
pub(super) async fn mend(looker: &Looker, suspect: &Suspect) -> Result<Repair, StoreError> {
    let not_mended = |why: String| Repair { mended: false, what: why };
    let mut what = "it was mended meanwhile";
    for _ in 0..TRIES {
        let now = patiently(|| looker.look_again(&suspect.target)).await?;
        let Some(left) = now.iter().find(|now| now.is_left_of(suspect)) else {
            return Ok(Repair { mended: true, what: what.to_owned() });
        };
        match act(looker, left).await {
            Ok(deed) => what = deed,
            Err(Obstacle::Race) => tokio::time::sleep(BREATH).await,
            Err(Obstacle::ForAPerson(why)) => return Ok(not_mended(why.to_owned())),
            Err(Obstacle::Store(error)) if error.is_transient() => return Err(error),
            Err(Obstacle::Store(error)) => {
                return Ok(not_mended(format!("the store refused it: {:?}", error.reason)));
            }
        }
    }
    Ok(not_mended("others write it all the time: audit again when they are done".to_owned()))
}

async fn act(looker: &Looker, suspect: &Suspect) -> Deed {
    // What has to go, goes as it was looked at.
    let seen = ETag::from(suspect.evidence.clone());
    let (partition, id) = match &suspect.target {
        Target::Feed => return super::repair_feed::act(looker, &suspect.finding, &seen).await,
        Target::Item { partition_key, id, .. } => (partition_key.as_str(), id.as_str()),
    };
    let blog = &looker.blog;
    match suspect.finding.kind {
        Kind::CountDiffers => looker.write_counts(&post_id(partition)?).await,
        Kind::NameDiffers => looker.write_name(partition, id).await,
        Kind::Orphan | Kind::StaleReaction => looker.remove_reaction(partition, id, &seen).await,
        Kind::CopyMissing | Kind::CopyOlder | Kind::CopyNewer | Kind::CopyDifferent => {
            looker.write_copy(&post_id(partition)?).await
        }
        Kind::CopyExtra => {
            blog.users.delete(partition, id, &seen).await?;
            Ok("deleted the copy")
        }
        Kind::ReservationLeaked => {
            match read::<UsersItem>(&blog.users, partition, Reservation::ID).await? {
                Slot::Item(Stored { item: UsersItem::Username(item), etag }) => {
                    free(blog, &Stored { item, etag }).await?;
                    Ok("deleted the reservation")
                }
                _ => Err(Obstacle::Race),
            }
        }
        Kind::ReservationMissing | Kind::ReservationForeign => {
            let user_id = UserId::parse(partition.to_owned()).map_err(|_| Obstacle::Race)?;
            let UserSlot::User(user) = blog.user_slot(&user_id).await? else {
                return Err(Obstacle::Race);
            };
            take_name(blog, user.item, Some(&user.etag)).await?;
            Ok("reserved the name")
        }
        Kind::NameTwice => {
            Err(Obstacle::ForAPerson("two users have this name: rename one of them"))
        }
        Kind::UserMissing => Err(Obstacle::ForAPerson("its user is gone: restore or delete it")),
        Kind::Unreadable
        | Kind::MemberMissing
        | Kind::MemberDifferent
        | Kind::MemberExtra
        | Kind::RefillPending => {
            Err(Obstacle::ForAPerson("nobody can say what it was: restore or delete it"))
        }
    }
}

impl Looker {
    /// Counts again. Every new comment or like replaces the post, and this write would fail.
    async fn write_counts(&self, id: &PostId) -> Deed {
        let PostSlot::Post(post) = self.blog.post_slot(id).await? else {
            return Err(Obstacle::Race);
        };
        let counts = self.count(id, post.item.public.creation_date).await?;
        let counted = post.item.counted(counts.comments, counts.likes);
        self.replace(id.as_str(), id.as_str(), PostsItem::Post(counted), &post.etag).await?;
        Ok("wrote the counts")
    }

    async fn write_name(&self, partition: &str, id: &str) -> Deed {
        let Slot::Item(stored) = read::<PostsItem>(&self.blog.posts, partition, id).await? else {
            return Err(Obstacle::Race);
        };
        let user_id = match &stored.item {
            PostsItem::Post(post) => &post.public.user_id,
            PostsItem::Comment(comment) => &comment.public.user_id,
            PostsItem::Like(like) => &like.public.user_id,
            PostsItem::DeletedPost(_) => return Err(Obstacle::Race),
        };
        // Read after the item: it is at least as new.
        let Slot::Item(Stored { item: author, .. }) = self.author(user_id, true).await? else {
            return Err(Obstacle::Race);
        };
        let renamed = under_name(&stored.item, &author);
        self.replace(partition, id, renamed, &stored.etag).await?;
        Ok("wrote the name")
    }

    async fn remove_reaction(&self, partition: &str, id: &str, seen: &ETag) -> Deed {
        // The mark of a deleted post tells which of its comments and likes have to go, all at once.
        let post_id = post_id(partition)?;
        if let PostSlot::Deleted(mark) = self.blog.post_slot(&post_id).await? {
            remove_some(&self.blog, &post_id, mark.item.version).await?;
            return Ok("deleted what the post left behind");
        }
        self.blog.posts.delete(partition, id, seen).await?;
        Ok("deleted it")
    }

    /// Writes the copy of a post in the partition of its author.
    async fn write_copy(&self, post_id: &PostId) -> Deed {
        // The author never changes, but for a post of another user under the id of a deleted one.
        let PostSlot::Post(post) = self.blog.post_slot(post_id).await? else {
            return Err(Obstacle::Race);
        };
        let author = post.item.public.user_id.clone();
        let id = PostCopy::id_in_users(post_id);
        let etag = match read::<UsersItem>(&self.blog.users, author.as_str(), &id).await? {
            Slot::Empty => None,
            Slot::Unreadable(etag) | Slot::Item(Stored { etag, .. }) => Some(etag),
        };
        let post = self.post_of(post_id, &author).await?;
        let copy = UsersItem::Post(PostCopy::for_users(&post));
        self.blog.users.put(author.as_str(), &id, &copy, etag.as_ref()).await?;
        Ok("wrote the copy")
    }

    async fn post_of(&self, post_id: &PostId, author: &UserId) -> Result<Post, Obstacle> {
        match self.blog.post_slot(post_id).await? {
            PostSlot::Post(post) if post.item.public.user_id == *author => Ok(post.item),
            _ => Err(Obstacle::Race),
        }
    }

    async fn replace(
        &self,
        partition: &str,
        id: &str,
        item: PostsItem,
        etag: &ETag,
    ) -> Result<(), Obstacle> {
        self.blog.posts.replace(partition, id, &item, etag).await?;
        Ok(())
    }
}

fn under_name(item: &PostsItem, author: &Author) -> PostsItem {
    match item {
        PostsItem::Post(post) => PostsItem::Post(post.renamed(author)),
        PostsItem::Comment(comment) => PostsItem::Comment(comment.renamed(author)),
        PostsItem::Like(like) => PostsItem::Like(like.renamed(author)),
        PostsItem::DeletedPost(mark) => PostsItem::DeletedPost(mark.clone()),
    }
}

fn post_id(partition: &str) -> Result<PostId, Obstacle> {
    let reason = "its partition key is no id of a post: delete it";
    PostId::parse(partition.to_owned()).map_err(|_| Obstacle::ForAPerson(reason))
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        if error.is_race() || error.reason == Reason::NotFound {
            Self::Race
        } else {
            Self::Store(error)
        }
    }
}

impl From<ApiError> for Obstacle {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Store(error) => error.into(),
            // Another user has the name, or somebody has just reserved it.
            _ => Self::Race,
        }
    }
}
