//! The items of the change feeds, and their sources.

use tributary_functions::projection::{ChangeFeedItem, Origin};

use crate::model::{PostsItem, UsersItem};

/// Posts are the sources of copies. Comments and likes have none.
impl ChangeFeedItem for PostsItem {
    const PARTITION_KEY: &'static str = "postId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::Post(post) => Some(Origin::root(&post.public.post_id, post.version)),
            Self::DeletedPost(it) => Some(Origin::root(&it.post_id, it.version)),
            Self::Comment(_) | Self::Like(_) => None,
        }
    }
}

/// Users are the sources of names.
impl ChangeFeedItem for UsersItem {
    const PARTITION_KEY: &'static str = "userId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::User(user) => Some(Origin::root(&user.user_id, user.version)),
            Self::Renaming(continuation) => Some(continuation.origin()),
            _ => None,
        }
    }
}
