//! Checks of the blog: counts, names, copies, reservations, and the feed.
//!
//! | file | checks |
//! | --- | --- |
//! | `posts.rs` | the counts of a post, the name on each item, children without a parent |
//! | [`CopiesChecks`] | the copy of each post in `users` |
//! | `users.rs` | copies without a post |
//! | [`UniqueChecks`] | the reservation of each name, names without a user |
//! | [`WindowChecks`] | the members of the feed and their copies |
//! | `repair.rs` | the guarded write that repairs each |
//!
//! [`tributary_functions::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod posts;
mod users;

mod repair;

use tributary_functions::{
    audit::{
        AuditedItem, CheckResults, Checks, CopiesChecks, FindingKind, ReferencedItem,
        ReferencedItems, RepairResult, Suspect, Target, UniqueChecks, WindowChecks, async_trait,
    },
    prelude::*,
};

use super::{
    Blog,
    model::{Author, Post, PostId, PostsItem, User, UserId, Username, UsersItem},
    projections::{NewestPosts, PostCopies},
};

/// The kinds of divergence that only the blog has, beside those of [any domain](FindingKind::SHARED).
pub struct BlogKinds;

impl BlogKinds {
    pub const USER_MISSING: FindingKind =
        FindingKind::new("user-missing").in_class_of(FindingKind::NAME_DIFFERS);
    /// A comment or like of an earlier post with the same id.
    pub const STALE_REACTION: FindingKind =
        FindingKind::new("stale-reaction").in_class_of(FindingKind::ORPHAN);
}

pub fn audit(blog: &Blog) -> Audit {
    let blog = blog.clone();
    Audit::new("AuditBlog", "0 0 3 * * 0", move || BlogChecks::new(blog.clone()))
}

/// The most users, and the most posts, that are remembered between two checks; some 200 bytes each.
const MAX_REMEMBERED_ITEMS: usize = 10_000;

struct BlogChecks {
    blog: Blog,
    feed: WindowChecks<NewestPosts>,
    copies: CopiesChecks<PostCopies>,
    names: UniqueChecks<User>,
    authors: ReferencedItems<UserId, Author>,
    parents: ReferencedItems<PostId, Parent>,
}

/// The parts of a post that the checks of comments, likes and copies need.
#[derive(Debug, Clone)]
struct Parent {
    user_id: UserId,
    created: Timestamp,
}

impl BlogChecks {
    const FEED: &'static str = "feed";

    fn new(blog: Blog) -> Self {
        Self {
            feed: WindowChecks::new(Self::FEED, &blog.posts, &blog.feed),
            copies: CopiesChecks::new(&blog.posts, &blog.users),
            names: UniqueChecks::new(&blog.users),
            blog,
            authors: ReferencedItems::new(MAX_REMEMBERED_ITEMS),
            parents: ReferencedItems::new(MAX_REMEMBERED_ITEMS),
        }
    }

    async fn author(
        &self,
        user_id: &UserId,
        fresh: bool,
    ) -> Result<ReferencedItem<Author>, StoreError> {
        let slot = (&self.blog.users, user_id.as_str(), user_id.as_str());
        let author = |item: UsersItem| User::try_from(item).ok().map(|user| user.author());
        self.authors.find(user_id, fresh, slot, author).await
    }

    async fn parent(&self, id: &PostId, fresh: bool) -> Result<ReferencedItem<Parent>, StoreError> {
        let slot = (&self.blog.posts, id.as_str(), id.as_str());
        let parent = |item: PostsItem| Post::try_from(item).ok().as_ref().map(Parent::new);
        self.parents.find(id, fresh, slot, parent).await
    }

    fn remember(&self, id: &PostId, post: Option<&Post>) {
        self.parents.remember(id, post.map(Parent::new));
    }
}

impl Parent {
    fn new(post: &Post) -> Self {
        Self { user_id: post.public.user_id.clone(), created: post.public.creation_date }
    }
}

#[async_trait]
impl Checks for BlogChecks {
    fn groups(&self) -> &'static [&'static str] {
        &[BlogChecks::FEED]
    }

    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.blog.posts, "postId"), (&self.blog.users, "userId")]
    }

    async fn check_item(&self, item: &AuditedItem, fresh: bool) -> CheckResults {
        if item.container == self.blog.posts.id() {
            item.check(|parsed| self.check_posts_item(parsed, item, fresh)).await
        } else {
            item.check(|parsed| self.check_users_item(parsed, item, fresh)).await
        }
    }

    async fn check_group(&self, _feed: &'static str) -> CheckResults {
        self.feed.check().await
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        match &suspect.target {
            Target::Group(_) => self.feed.repair(suspect).await,
            Target::Item { partition_key, id, .. } => {
                repair::repair(self, suspect, (partition_key, id)).await
            }
        }
    }

    fn may_log_partition_key(&self, partition_key: &str) -> bool {
        !partition_key.starts_with(Username::RESERVATION_PREFIX)
    }
}
