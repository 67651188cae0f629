//! The removal of a deleted post's comments and likes.

use tributary_functions::{
    cosmos::{Container, Query, StoreError},
    projection::removal::Removal,
};

use super::{Blog, model::DeletedPost};

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
