//! Checks of `posts`: counts, names, comments and likes without a post; and the copies in `users`.

use std::{pin::pin, time::Duration};

use futures::TryStreamExt;
use serde::Deserialize;
use serde_json::Value;
use tributary_functions::{
    audit::{AuditedItem, Kind, Slot, Suspect, compare, read, version},
    cosmos::{Query, Scope, StoreError, Stored},
    values::Timestamp,
};

use super::{
    Kinds,
    checks::{BlogChecks, KnownAuthor, Parent},
};
use crate::blog::model::{Post, PostCopy, PostId, PostsItem, UserId, Username, UsersItem};

/// How much younger than its comments and likes a post may seem.
///
/// A command dates what it creates when it begins, so a comment may be dated before the post that
/// counts it by as long as a command can take; the Functions host ends it after ten minutes.
const LONGEST_COMMAND: Duration = Duration::from_mins(10);

/// How many comments and likes are counted at a time.
const COUNTED: u32 = 1_000;

/// How often the counts of a busy post are taken until nothing came between.
const SNAPSHOTS: usize = 5;

/// The numbers of comments and likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) comments: u64,
    pub(super) likes: u64,
}

/// What is counted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Reaction {
    Comment,
    Like,
}

impl BlogChecks {
    pub(super) async fn check_posts_item(
        &self,
        item: PostsItem,
        audited: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let mut suspects = Vec::new();
        match &item {
            PostsItem::Post(post) => {
                self.remember(&post.public.post_id, &item);
                let (public, name_version) = (&post.public, post.username_version);
                let name = (&public.user_id, &public.user_username, name_version);
                suspects.extend(self.check_counts(post, audited).await?);
                suspects.extend(self.check_name(name, audited, fresh).await?);
                suspects.extend(self.check_copy(post, audited).await?);
            }
            PostsItem::Comment(comment) => {
                let public = &comment.public;
                let name = (&public.user_id, &public.user_username, comment.username_version);
                let parent = (&public.post_id, public.creation_date);
                suspects.extend(self.check_name(name, audited, fresh).await?);
                suspects.extend(self.check_parent(parent, audited, fresh).await?);
            }
            PostsItem::Like(like) => {
                let public = &like.public;
                let name = (&public.user_id, &public.user_username, like.username_version);
                let parent = (&public.post_id, public.creation_date);
                suspects.extend(self.check_name(name, audited, fresh).await?);
                suspects.extend(self.check_parent(parent, audited, fresh).await?);
            }
            PostsItem::DeletedPost(tombstone) => self.remember(&tombstone.post_id, &item),
        }
        Ok(suspects)
    }

    /// Every transaction that creates or deletes a comment or like replaces the post: when the
    /// post is the same before and after the counting, nothing came between.
    async fn check_counts(
        &self,
        post: &Post,
        audited: &AuditedItem,
    ) -> Result<Option<Suspect>, StoreError> {
        let (mut public, mut etag) = (post.public.clone(), audited.etag.clone());
        for _ in 0..SNAPSHOTS {
            let said = Counts { comments: public.comment_count, likes: public.like_count };
            let counted = self.count(&public.post_id, public.creation_date).await?;
            if said == counted {
                return Ok(None);
            }
            let id = public.post_id.as_str();
            let Slot::Item(Stored { item: PostsItem::Post(after), etag: now }) =
                read(&self.blog.posts, id, id).await?
            else {
                return Ok(None);
            };
            if now.as_ref() == etag {
                // How far it is off, however many more there are meanwhile.
                let off = |said: u64, counted: u64| i128::from(said) - i128::from(counted);
                let evidence =
                    [off(said.comments, counted.comments), off(said.likes, counted.likes)];
                let words = (counted.to_string(), said.to_string());
                return Ok(Some(audited.suspect(
                    Kind::COUNT_DIFFERS,
                    words,
                    format!("{evidence:?}"),
                )));
            }
            (public, etag) = (after.public, now.to_string());
        }
        let words = ("counts at rest", "counts that change");
        Ok(Some(audited.suspect(Kind::COUNT_DIFFERS, words, etag)))
    }

    /// How many comments and likes a post that was created then has; those of an earlier post with
    /// its id do not count. One query in one logical partition, in the order of an index: a count
    /// in the store would load the items just as well.
    pub(super) async fn count(
        &self,
        post_id: &PostId,
        created: Timestamp,
    ) -> Result<Counts, StoreError> {
        let query = Query::from(
            "SELECT VALUE c.type FROM c \
             WHERE c.postId = @postId AND c.type IN ('comment', 'like') AND c.creationDate >= @from \
             ORDER BY c.postId DESC, c.type DESC, c.creationDate DESC, c.id DESC",
        )
        .with_parameter("@postId", post_id)?
        .with_parameter("@from", created.before(LONGEST_COMMAND))?;
        let scope = Scope::Partition(post_id.as_str());
        let mut pages = pin!(self.blog.posts.pages::<Reaction>(query, scope, COUNTED).await?);
        let mut counts = Counts { comments: 0, likes: 0 };
        while let Some(page) = pages.try_next().await? {
            for reaction in page {
                match reaction {
                    Reaction::Comment => counts.comments += 1,
                    Reaction::Like => counts.likes += 1,
                }
            }
        }
        Ok(counts)
    }

    async fn check_name(
        &self,
        (user_id, name, name_version): (&UserId, &Username, u64),
        audited: &AuditedItem,
        fresh: bool,
    ) -> Result<Option<Suspect>, StoreError> {
        let found = format!("{} of {}", quoted(name), version(name_version));
        Ok(match self.author(user_id, fresh).await? {
            KnownAuthor::Author(user) if (&user.username, user.version) == (name, name_version) => {
                None
            }
            KnownAuthor::Author(user) => {
                let expected = format!("{} of {}", quoted(&user.username), version(user.version));
                let evidence = format!("{expected} {found}");
                Some(audited.suspect(Kind::NAME_DIFFERS, (expected, found), evidence))
            }
            KnownAuthor::Missing => {
                let words = (format!("user {user_id}"), "no such user");
                Some(audited.suspect(Kinds::USER_MISSING, words, found))
            }
            KnownAuthor::Unreadable => None,
        })
    }

    async fn check_parent(
        &self,
        (post_id, created): (&PostId, Timestamp),
        audited: &AuditedItem,
        fresh: bool,
    ) -> Result<Option<Suspect>, StoreError> {
        Ok(match self.parent(post_id, fresh).await? {
            Parent::Gone => {
                let words = (format!("post {post_id}"), "no such post");
                Some(audited.suspect(Kind::ORPHAN, words, &audited.etag))
            }
            Parent::Live { created: post_created, .. }
                if created < post_created.before(LONGEST_COMMAND) =>
            {
                let words = (format!("created after {post_created}"), created.to_string());
                Some(audited.suspect(Kinds::STALE_REACTION, words, &audited.etag))
            }
            Parent::Live { .. } | Parent::Unreadable => None,
        })
    }

    async fn check_copy(
        &self,
        post: &Post,
        audited: &AuditedItem,
    ) -> Result<Option<Suspect>, StoreError> {
        let public = &post.public;
        let id = PostCopy::id_in_users(&public.post_id);
        let at = ("users", public.user_id.to_string(), id.clone());
        let copy: Slot<Value> = read(&self.blog.users, public.user_id.as_str(), &id).await?;
        let missing = |found: String, evidence: String| {
            let words = (version(post.version), found);
            Some(audited.suspect_at(Kind::COPY_MISSING, at.clone(), words, evidence))
        };
        Ok(match copy {
            Slot::Item(Stored { item, etag }) => match UsersItem::deserialize(&item) {
                Ok(UsersItem::Post(copy)) => compare(
                    (post.version, &PostCopy::for_users(post)),
                    (copy.version, &item),
                )
                .map(|(kind, words)| audited.suspect_at(kind, at.clone(), words, etag.to_string())),
                Ok(UsersItem::DeletedPost(tombstone)) => {
                    let found = format!(
                        "the tombstone of a deleted post of {}",
                        version(tombstone.version)
                    );
                    missing(found, etag.to_string())
                }
                Ok(_) => missing("another item".into(), etag.to_string()),
                // It is found for itself.
                Err(_) => None,
            },
            // The copy of this post: one of a later post under its id may be missing for a moment too.
            Slot::Empty => missing("none".into(), public.creation_date.to_string()),
            Slot::Unreadable(_) => None,
        })
    }
}

fn quoted(name: &Username) -> String {
    format!("{:?}", name.as_str())
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "commentCount {}, likeCount {}", self.comments, self.likes)
    }
}
