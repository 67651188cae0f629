//! The items, their rules, and bodies. Pure: no input, no output, nothing of Cosmos DB.
//!
//! Each stored item has a public part, which the API shows, and two versions, which guard the
//! copies: `version` counts the writes of the item itself, `usernameVersion` is the version of the
//! user from which the name was copied.

mod post;
mod reaction;
pub mod sizes;
mod user;
mod username;

pub use post::*;
pub use reaction::*;
pub use user::*;
pub use username::*;

use tributary_functions::projection::items;

/// An item of the container `posts`. Posts are the sources of copies; comments and likes have none.
#[items(partition_key = "postId")]
pub enum PostsItem {
    Post(Post),
    Comment(Comment),
    Like(Like),
    DeletedPost(DeletedPost),
}

impl PostsItem {
    /// Returns the name on the item; a tombstone has none.
    pub fn name(&self) -> Option<CopiedName<'_>> {
        let (post_id, user_id, id, username, version) = match self {
            Self::Post(Post { public: it, username_version, .. }) => {
                (&it.post_id, &it.user_id, it.id.as_str(), &it.user_username, *username_version)
            }
            Self::Comment(Comment { public: it, username_version, .. }) => {
                (&it.post_id, &it.user_id, it.id.as_str(), &it.user_username, *username_version)
            }
            Self::Like(Like { public: it, username_version, .. }) => {
                (&it.post_id, &it.user_id, it.id.as_str(), &it.user_username, *username_version)
            }
            Self::DeletedPost(_) => return None,
        };
        Some(CopiedName { post_id, user_id, id, username, version })
    }

    /// Returns the item with its author's newer name, a post in its next version.
    pub fn renamed(mut self, author: &Author) -> Self {
        let (name, version) = match &mut self {
            Self::Post(post) => {
                post.version += 1;
                (&mut post.public.user_username, &mut post.username_version)
            }
            Self::Comment(it) => (&mut it.public.user_username, &mut it.username_version),
            Self::Like(it) => (&mut it.public.user_username, &mut it.username_version),
            Self::DeletedPost(_) => return self,
        };
        (*name, *version) = (author.username.clone(), author.version);
        self
    }
}

/// The copy of a user's name on an item, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedName<'a> {
    pub post_id: &'a PostId,
    pub user_id: &'a UserId,
    pub id: &'a str,
    pub username: &'a Username,
    pub version: u64,
}
