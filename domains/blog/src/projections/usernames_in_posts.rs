//! A user's new name on the user's posts, comments and likes.

use tributary_functions::{
    engines::unique_claim::release_former, prelude::*, projection::fan_out::older_copies,
};

use crate::{
    Blog,
    model::{PostsItem, User, UsersItem},
};

/// The projection that updates the names in `posts` after a rename, and frees the old name.
pub type UsernamesInPosts = FanOutProjection<Usernames>;

/// The names of users, with a copy in each post, comment and like of the user. A rename is rare. It is
/// the only change whose fan-out reads all partitions.
pub struct Usernames(pub Blog);

impl FanOut for Usernames {
    const FUNCTION: &'static str = "UsernamesInPosts";
    type Change = UsersItem;
    type Source = User;
    type Target = PostsItem;

    fn outdated(user: &User) -> Result<Query, StoreError> {
        older_copies(("userId", "usernameVersion"), &user.user_id, user.version)
    }

    fn update(item: &PostsItem, user: &User) -> Option<Update<PostsItem>> {
        let name = item.name()?;
        // A later post under the id of a deleted one may belong to another author.
        let is_author = *name.user_id == user.user_id;
        let is_older = name.version < user.version;
        (is_author && is_older)
            .then(|| Update::new(name.post_id, name.id, item.clone().renamed(&user.author())))
    }

    async fn prepare(&self, user: &User) -> Result<(), StoreError> {
        release_former(&self.0.users, user).await
    }
}
