//! What the audit of the blog checks: counts, names, copies, reservations, and the feed.
//!
//! | file | checks |
//! | --- | --- |
//! | `posts.rs` | the counts of a post, the name on each item, children without a parent, the copy in `users` |
//! | `users.rs` | the reservation of each name, names without a user, copies without a post |
//! | [`WindowChecks`](tributary_functions::audit::WindowChecks) | the members of the feed and their copies |
//! | `repair.rs` | the guarded write that repairs each |
//!
//! [`tributary_functions::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod checks;
mod kinds;
mod posts;
mod users;

mod repair;

use tributary_functions::{
    audit::{Audit, AuditedItem, Checks, RepairResult, Suspect, Target},
    cosmos::{Container, StoreError},
};

use self::checks::BlogChecks;
pub use self::kinds::Kinds;
use super::{Blog, model::Reservation};

pub fn audit(blog: &Blog) -> Audit {
    let blog = blog.clone();
    Audit::new("AuditBlog", "0 0 3 * * 0", move || BlogChecks::new(blog.clone()))
}

impl Checks for BlogChecks {
    const GROUPS: &'static [&'static str] = &[BlogChecks::FEED];

    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.blog.posts, "postId"), (&self.blog.users, "userId")]
    }

    async fn check_item(
        &self,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        if item.container == self.blog.posts.id() {
            match item.parse() {
                Ok(parsed) => self.check_posts_item(parsed, item, fresh).await,
                Err(unreadable) => Ok(unreadable),
            }
        } else {
            match item.parse() {
                Ok(parsed) => self.check_users_item(parsed, item, fresh).await,
                Err(unreadable) => Ok(unreadable),
            }
        }
    }

    async fn check_group(&self, _feed: &'static str) -> Result<Vec<Suspect>, StoreError> {
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

    /// The partition of a reservation is a username.
    fn may_log_partition_key(partition_key: &str) -> bool {
        !partition_key.starts_with(Reservation::PREFIX)
    }
}
