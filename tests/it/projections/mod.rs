//! The projections of the change feed.

mod home_feed;
mod post_copies_in_users;
mod posts_integrity;
mod removals_of_any_size;
mod renames_of_any_size;
mod usernames_in_posts;
