//! What the audit of the blog checks: counts, names, copies, reservations, and the feed.
//!
//! | file | checks |
//! | --- | --- |
//! | `posts.rs` | the counts of a post, the name on each item, children without a parent, the copy in `users` |
//! | `users.rs` | the reservation of each name, names without a user, copies without a post |
//! | `feed.rs` | the members of the feed and their copies |
//! | `repair.rs`, `repair_feed.rs` | the guarded write that repairs each |
//!
//! [`crate::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod checks;
mod copies;
mod feed;
mod kinds;
mod posts;
mod users;

mod repair;
mod repair_feed;

use self::checks::BlogChecks;
pub use self::kinds::Kinds;
use super::Blog;
use crate::audit::Audit;

/// Returns the audit of a blog.
pub fn audit(blog: &Blog) -> Audit {
    let blog = blog.clone();
    Audit::new("AuditBlog", move || BlogChecks::new(blog.clone()))
}
