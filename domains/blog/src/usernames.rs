//! Unique usernames: each is a [unique value](tributary_functions::engines::unique_claim) of one user.
//!
//! A rename releases the old name once the user has the new one. If its process is killed, or the
//! store refuses the release, the user item still has the old name, and
//! [`UsernamesInPosts`](super::projections::UsernamesInPosts) releases it. The item keeps the last few
//! old names: further renames may come before the change feed delivers the item, and the feed then
//! shows only the last version.

use tributary_functions::{
    cosmos::{Container, ETag, Reads, StoreError, Stored},
    engines::unique_claim::{self, UniqueValue, ValueReservation, give_up, reserve},
    http::ApiError,
};

use super::{
    Blog,
    model::{FormerName, NoUser, User, UserId, UsernameReservation, UsersItem},
    state::UserSlot,
};

impl UniqueValue for Blog {
    const ID: &'static str = UsernameReservation::ID;
    type Item = UsersItem;
    type Owner = UserId;

    fn container(&self) -> &Container {
        &self.users
    }

    fn partition(key: &str) -> String {
        UsernameReservation::partition(key)
    }

    fn item(key: &str, reserved: &ValueReservation<UserId>) -> UsersItem {
        UsernameReservation::new(key, reserved).into()
    }

    fn reserved(item: &UsersItem) -> Option<ValueReservation<UserId>> {
        let UsersItem::Username(reservation) = item else { return None };
        Some(reservation.reserved())
    }

    fn has(item: &UsersItem, key: &str) -> bool {
        matches!(item, UsersItem::User(user) if user.public.username.key() == key)
    }

    fn no_owner(owner: &UserId) -> UsersItem {
        NoUser::new(owner).into()
    }
}

/// Reserves the name of a user, and writes the user over the item with the ETag `read`; creates it
/// without one.
pub(super) async fn claim_name(
    blog: &Blog,
    user: User,
    read: Option<&ETag>,
) -> Result<Stored<User>, ApiError> {
    let name = user.public.username.key();
    let Some(reservation) = reserve(blog, &name, &user.user_id).await? else {
        let taken = "Another user has this username. Choose another one.";
        return Err(ApiError::Conflict(taken));
    };
    let user = user.with_reservation(&reservation);
    match blog.write_user(&user, read).await {
        Ok(etag) => Ok(Stored { item: user, etag }),
        Err(error) if error.answer_lost => {
            let stored = blog.reading(Reads::Latest).user_slot(&user.user_id).await;
            let stored = stored.ok().and_then(UserSlot::live);
            // No other write has this reservation. So a user item with it is this write.
            let own = stored.filter(|stored| stored.item.reservation == user.reservation);
            own.ok_or(ApiError::Store(error))
        }
        Err(error) => {
            give_up(blog, &name, &user.user_id, &reservation).await;
            Err(error.into())
        }
    }
}

/// Releases a name that its user no longer has.
pub(super) async fn release(blog: &Blog, former: &FormerName) -> Result<(), StoreError> {
    let reservation = ETag::from(former.reservation.clone());
    unique_claim::release(blog, &former.username.key(), &reservation).await
}
