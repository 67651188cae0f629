//! Posts in short form in the partition of their author, for Q3.

use tributary_functions::{
    engines::{
        idempotency::RecentCommands,
        tombstone::{self, FormerOwner, FormerOwners},
    },
    projection::{
        VersionedCopy,
        copies::{Copies, CopyProjection},
    },
};

use crate::model::{DeletedPost, PostCopy, PostsItem, UserId, UsersItem};

pub type PostCopiesInUsers = CopyProjection<PostCopies>;

pub struct PostCopies;

impl Copies for PostCopies {
    const FUNCTION: &'static str = "PostCopiesInUsers";
    type Change = PostsItem;
    type Copy = UsersItem;

    fn copies_of(change: &PostsItem) -> Vec<VersionedCopy<UsersItem>> {
        let (post_id, author, version, former) = match change {
            PostsItem::Post(post) => {
                let public = &post.public;
                (&public.post_id, &public.user_id, post.version, &post.former_authors)
            }
            PostsItem::DeletedPost(it) => {
                (&it.post_id, &it.user_id, it.version, &it.former_authors)
            }
            PostsItem::Comment(_) | PostsItem::Like(_) => return Vec::new(),
        };
        let id = PostCopy::id_in_users(post_id);
        // Only the tombstone of a source remembers commands and former authors.
        let tombstone = |user_id: UserId, version| {
            UsersItem::DeletedPost(DeletedPost {
                id: id.clone(),
                post_id: post_id.clone(),
                user_id,
                version,
                post_creation_date: None,
                recent: RecentCommands::default(),
                former_authors: FormerOwners::default(),
                ttl: tombstone::TTL_SECONDS,
            })
        };
        let copy = |partition: &str, version, item| VersionedCopy {
            partition: partition.to_owned(),
            id: id.clone(),
            version,
            item,
        };
        let item = match change {
            PostsItem::Post(post) => UsersItem::Post(PostCopy::for_users(post)),
            _ => tombstone(author.clone(), version),
        };
        let former = former.iter().filter_map(|FormerOwner { id, version, .. }| {
            let item = tombstone(UserId::parse(id.clone()).ok()?, *version);
            Some(copy(id, *version, item))
        });
        [copy(author.as_str(), version, item)].into_iter().chain(former).collect()
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        matches!(change, PostsItem::Post(post) if post.may_be_rewritten())
    }
}
