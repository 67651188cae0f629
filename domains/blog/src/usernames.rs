//! Unique usernames: each is a [unique value](tributary_functions::engines::unique_claim) of one user.
//!
//! A rename releases the old name once the user has the new one. If its process is killed, or the
//! store refuses the release, the user item still has the old name, and
//! [`UsernamesInPosts`](super::projections::UsernamesInPosts) releases it. The item keeps the last few
//! old names: further renames may come before the change feed delivers the item, and the feed then
//! shows only the last version.

use tributary_functions::{
    engines::unique_claim::{Reservation, UniqueValue, ValueReservation, claim},
    prelude::*,
};

use super::{
    Blog,
    model::{NoUser, User, UserId, UsersItem},
};

impl UniqueValue for Blog {
    const ID: &'static str = "username";
    type Item = UsersItem;
    type Owner = UserId;

    fn container(&self) -> &Container {
        &self.users
    }

    fn item(key: &str, reserved: &ValueReservation<UserId>) -> UsersItem {
        Reservation::new::<Self>(key, reserved).into()
    }

    fn reserved(item: &UsersItem) -> Option<ValueReservation<UserId>> {
        let UsersItem::Username(reservation) = item else { return None };
        Some(reservation.reserved())
    }

    fn reservation<'a>(item: &'a UsersItem, key: &str) -> Option<&'a str> {
        match item {
            UsersItem::User(user) if user.public.username.reservation() == key => {
                Some(&user.reservation)
            }
            _ => None,
        }
    }

    fn no_owner(owner: &UserId) -> UsersItem {
        NoUser::new(owner).into()
    }
}

/// Reserves the name of a user, and writes the user over the item with the ETag `read`; creates it
/// without one. Then releases the `former` name.
pub(super) async fn claim_name(
    blog: &Blog,
    user: User,
    read: Option<&ETag>,
    former: &[(String, ETag)],
) -> Result<Stored<User>, ApiError> {
    let owner = user.user_id.clone();
    let names = [user.public.username.reservation()];
    let user = |reservations: &[ETag]| User { reservation: reservations[0].to_string(), ..user };
    let written = claim(blog, &owner, (&names, former), user, read).await?;
    written.ok_or(ApiError::Conflict("Another user has this username. Choose another one."))
}
