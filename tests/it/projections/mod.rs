//! What the change feed keeps true.

mod failure_contract;
mod feed_repairs;
mod home_feed;
mod late_deliveries;
mod poisoned;
mod post_copies_in_users;
mod posts_integrity;
mod removals_of_any_size;
mod renames_of_any_size;
mod stale_reads;
mod texts;
mod usernames_in_posts;
