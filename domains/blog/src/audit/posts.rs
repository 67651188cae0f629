//! Checks of `posts`: counts, names, comments and likes without a post.

use std::time::Duration;

use futures::{TryStreamExt, future};
use tributary_functions::{
    audit::{
        AuditedItem, CheckResult, FindingKind, ReferencedItem, Slot, Suspect, read_slot,
        version_text,
    },
    prelude::*,
};

use super::{BlogChecks, BlogKinds};
use crate::model::{Comment, CopiedName, Like, Post, PostId, PostsItem, PublicPost, Username};

/// The longest duration of a command: the Functions host ends a function after ten minutes.
///
/// A command dates a new item by the time of its own begin. So a comment may be dated before the post
/// that counts it, by this duration at most.
const MAX_COMMAND_DURATION: Duration = Duration::from_mins(10);

const COUNT_PAGE_ITEMS: u32 = 1_000;

impl BlogChecks {
    pub(super) async fn check_posts_item(
        &self,
        item: PostsItem,
        audited: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let mut suspects = Vec::new();
        if let Some(name) = item.name() {
            suspects.extend(self.check_name(name, audited, fresh).await?);
        }
        let parent = match &item {
            PostsItem::Post(post) => {
                self.remember(&post.public.post_id, Some(post));
                suspects.extend(self.check_counts(post, audited).await?);
                suspects.extend(self.copies.check_source(audited).await?);
                return Ok(suspects);
            }
            PostsItem::DeletedPost(tombstone) => {
                self.remember(&tombstone.post_id, None);
                return Ok(suspects);
            }
            PostsItem::Comment(Comment { public, .. }) => (&public.post_id, public.creation_date),
            PostsItem::Like(Like { public, .. }) => (&public.post_id, public.creation_date),
        };
        suspects.extend(self.check_parent(parent, audited, fresh).await?);
        Ok(suspects)
    }

    async fn check_counts(&self, post: &Post, audited: &AuditedItem) -> CheckResult {
        let id = &post.public.post_id;
        let stated = |post: &PublicPost| [post.comment_count, post.like_count];
        let count = |post: PublicPost| self.count(id, post.creation_date);
        let read = || async {
            let post = read_slot::<PostsItem>(&self.blog.posts, id.as_str(), id.as_str()).await?;
            let Slot::Item(post) = post else { return Ok(None) };
            Ok(post.of_type::<Post>().and_then(|post| post.filter_map(|it| Some(it.public))))
        };
        let words =
            |[comments, likes]: [u64; 2]| format!("commentCount {comments}, likeCount {likes}");
        audited.check_counts(post.public.clone(), stated, count, read, words).await
    }

    /// Returns the numbers of comments and likes of a post with this date of creation. Those of an
    /// earlier post with its id do not count. This is one query in one logical partition, in the order
    /// of an index: a count in the store would load the items, too.
    pub(super) async fn count(
        &self,
        post_id: &PostId,
        created: Timestamp,
    ) -> Result<[u64; 2], StoreError> {
        let query = Query::from(
            "SELECT VALUE c.type FROM c \
             WHERE c.postId = @postId AND c.type IN ('comment', 'like') AND c.creationDate >= @from \
             ORDER BY c.postId DESC, c.type DESC, c.creationDate DESC, c.id DESC",
        )
        .with_parameter("@postId", post_id)?
        .with_parameter("@from", created.before(MAX_COMMAND_DURATION))?;
        let scope = Scope::Partition(post_id.as_str());
        let pages = self.blog.posts.pages::<String>(query, scope, COUNT_PAGE_ITEMS).await?;
        let count = |[comments, likes]: [u64; 2], types: Vec<String>| {
            let new_comments = types.iter().filter(|it| *it == "comment").count() as u64;
            let new_likes = types.len() as u64 - new_comments;
            future::ok([comments + new_comments, likes + new_likes])
        };
        pages.try_fold([0, 0], count).await
    }

    async fn check_name(
        &self,
        CopiedName { user_id, username, version: name_version, .. }: CopiedName<'_>,
        audited: &AuditedItem,
        fresh: bool,
    ) -> CheckResult {
        let quoted = |name: &Username| format!("{:?}", name.as_str());
        let found = format!("{} of {}", quoted(username), version_text(name_version));
        Ok(match self.author(user_id, fresh).await? {
            ReferencedItem::Live(user)
                if (&user.username, user.version) == (username, name_version) =>
            {
                None
            }
            ReferencedItem::Live(user) => {
                let expected =
                    format!("{} of {}", quoted(&user.username), version_text(user.version));
                let evidence = format!("{expected} {found}");
                Some(audited.suspect(FindingKind::NAME_DIFFERS, (expected, found), evidence))
            }
            ReferencedItem::Missing => {
                let words = (format!("user {user_id}"), "no such user");
                Some(audited.suspect(BlogKinds::USER_MISSING, words, found))
            }
            ReferencedItem::Unreadable => None,
        })
    }

    async fn check_parent(
        &self,
        (post_id, created): (&PostId, Timestamp),
        audited: &AuditedItem,
        fresh: bool,
    ) -> CheckResult {
        Ok(match self.parent(post_id, fresh).await? {
            ReferencedItem::Missing => {
                let words = (format!("post {post_id}"), "no such post");
                Some(audited.suspect(FindingKind::ORPHAN, words, &audited.etag))
            }
            ReferencedItem::Live(post) if created < post.created.before(MAX_COMMAND_DURATION) => {
                let words = (format!("created after {}", post.created), created.to_string());
                Some(audited.suspect(BlogKinds::STALE_REACTION, words, &audited.etag))
            }
            ReferencedItem::Live(_) | ReferencedItem::Unreadable => None,
        })
    }
}
