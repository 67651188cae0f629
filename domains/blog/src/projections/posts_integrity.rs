//! The invariants inside `posts` that commands alone cannot uphold.

use tributary_functions::{prelude::*, projection::removal::Removal};

use super::usernames_in_posts::Usernames;
use crate::{
    Blog,
    model::{CopiedName, DeletedPost, PostsItem},
};

/// The projection that upholds the invariants inside `posts`: an item created under an old name
/// while a rename ran gets the new one ([`fan_out`]), and the comments and likes of deleted posts
/// are removed.
pub type PostsIntegrity = IntegrityProjection<Usernames, Blog>;

impl Repairs for Usernames {
    const REPAIRS: &'static str = "PostsIntegrity";

    fn copied(item: &PostsItem) -> Option<Origin> {
        item.name().map(|name| Origin::root(name.user_id, name.version))
    }

    fn place(item: &PostsItem) -> Option<Origin> {
        let of_copy = |it: CopiedName<'_>| Origin::new(it.post_id, it.id, it.version);
        item.origin().or_else(|| item.name().map(of_copy))
    }
}

/// Removes the comments and likes of deleted posts. Those of a later post with the same id have a
/// higher `postVersion`, and stay.
impl Removal for Blog {
    type Tombstone = DeletedPost;

    fn container(&self) -> &Container {
        &self.posts
    }

    fn children(tombstone: &DeletedPost, at_most: u32) -> Result<Query, StoreError> {
        // The order is that of an index, by which the items of the post are found.
        let query = Query::from(
            "SELECT TOP @batch VALUE c.id FROM c \
             WHERE c.postId = @postId AND c.type IN ('comment', 'like') AND c.postVersion < @version \
             ORDER BY c.postId DESC, c.type DESC, c.creationDate DESC, c.id DESC",
        );
        let query = query.with_parameter("@postId", &tombstone.post_id)?;
        let query = query.with_parameter("@batch", at_most)?;
        Ok(query.with_parameter("@version", tombstone.version)?)
    }
}
