//! Unique usernames: each is a [unique value](tributary_functions::engines::unique_claim) of one user.
//!
//! A rename releases the old name once the user has the new one. If its process is killed, or the
//! store refuses the release, the user item still has the old name, and
//! [`UsernamesInPosts`](super::projections::UsernamesInPosts) releases it. The item keeps the last few
//! old names: further renames may come before the change feed delivers the item, and the feed then
//! shows only the last version.

use tributary_functions::{
    engines::unique_claim::{Claims, UniqueValues},
    prelude::*,
};

use super::{
    Blog,
    model::{NoUser, User, UsersItem},
};

impl UniqueValues for User {
    const ID: &'static str = "username";

    fn values(&self) -> Vec<(&'static str, String)> {
        vec![("username", self.public.username.key())]
    }

    /// A renamed user has no reservation of its own yet, and that of its last former name.
    fn claims(&self) -> Claims {
        let former = self.former.iter();
        let former = former.map(|it| (it.username.reservation(), it.reservation.clone()));
        let mut former: Vec<_> = former.collect();
        let own = (self.public.username.reservation(), self.reservation.clone());
        let held = if self.reservation.is_empty() { former.pop() } else { Some(own) };
        Claims { held: held.into_iter().collect(), former }
    }

    fn with_claims(self, claims: Claims) -> Self {
        let reservation = claims.held.into_values().next().unwrap_or_default();
        Self { reservation, ..self }
    }

    fn no_owner(owner: &str) -> UsersItem {
        NoUser::new(owner).into()
    }
}

/// Writes the user over the item with the ETag `read`, or creates it without one, with its name reserved.
pub(super) async fn claim_name(
    blog: &Blog,
    user: User,
    read: Option<&ETag>,
) -> Result<Stored<User>, ApiError> {
    blog.users.claim(user, read).await.map_err(|error| match error {
        ApiError::Taken(_) => {
            ApiError::Conflict("Another user has this username. Choose another one.")
        }
        error => error,
    })
}
