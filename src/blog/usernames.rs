//! Unique usernames.
//!
//! A name belongs to whoever holds its reservation, an item in a logical partition of its own, and
//! has a user item with that name. The two are in different partitions, so no transaction covers
//! both, and a crash between the two writes leaves a reservation that nobody uses. Others may take
//! such a name, but never while its owner could still complete the second write:
//!
//! - the owner reads its user, writes the reservation, and then writes the user under the ETag it
//!   has read (or as a new item);
//! - who wants to take the name over reads the reservation, then *fences* the owner by writing the
//!   owner's user unchanged (or a mark where there is none), which changes its ETag, and then
//!   replaces the reservation under the ETag it has read.
//!
//! Take an owner's reservation `r`, written after it read its user at `e`, and a taker that read
//! `r`. If the owner's write comes before the taker reads the user, the taker finds the name in
//! use and gives up. If it comes later, it meets the fence, and fails: `e` is no longer the ETag.
//! The owner then starts over and writes the reservation again, and one of the two finds it
//! changed. So no two users ever have one name, however slow either is; the pause before a
//! take-over only saves both the trouble.
//!
//! A rename gives the old name back once the user has the new one. Where it cannot, since it is
//! killed or the store refuses, the user item still says which name that was, and
//! [`UsernamesInPosts`](super::projections::UsernamesInPosts) gives it back. The item keeps the last
//! few such names: further renames may come before the change feed, which then shows only the last.

use super::{
    Blog,
    model::{FormerName, NoUser, Reservation, UserId, Username, UsersItem},
    stores::UserSlot,
};
use crate::{
    cosmos::{ETag, Reason, StoreError, Stored},
    http::ApiError,
    values::Timestamp,
};

/// How long a reservation without a user is left alone: commands rarely take longer.
const PENDING_MILLIS: u64 = 10_000;

/// Reserves a name for a user, whose item the caller has read before (or knows to be new) and
/// writes after. Gives the ETag of the reservation.
pub(super) async fn reserve(
    blog: &Blog,
    name: &Username,
    owner: &UserId,
) -> Result<ETag, ApiError> {
    let partition = Reservation::partition(name);
    let ours = UsersItem::Username(Reservation::new(name, owner));
    match blog.users.create(&partition, Reservation::ID, &ours).await {
        Err(error) if error.reason == Reason::Conflict => {
            let Some(held) = blog.users.read::<UsersItem>(&partition, Reservation::ID).await?
            else {
                return Err(error.into()); // Released meanwhile: the caller tries again.
            };
            if let Stored { item: UsersItem::Username(held), .. } = &held
                && held.owner != *owner
            {
                fence(blog, &name.key(), held).await?;
            }
            match blog.users.replace(&partition, Reservation::ID, &ours, &held.etag).await {
                Err(gone) if gone.reason == Reason::NotFound => Err(error.into()), // The same.
                written => Ok(written?),
            }
        }
        written => Ok(written?),
    }
}

/// Gives a name back that its user no longer has. If somebody has it by now, be it the same user,
/// its reservation is another, and stays.
pub(super) async fn release(blog: &Blog, former: &FormerName) -> Result<(), StoreError> {
    let partition = Reservation::partition(&former.username);
    let reservation = ETag::from(former.reservation.clone());
    match blog.users.delete(&partition, Reservation::ID, &reservation).await {
        Err(error) if !matches!(error.reason, Reason::NotFound | Reason::PreconditionFailed) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Lets others take over a name at once that its owner has reserved, but not taken. It is not
/// released: another command of the same owner may be about to take it.
pub(super) async fn give_up(blog: &Blog, name: &Username, owner: &UserId, reservation: &ETag) {
    let partition = Reservation::partition(name);
    let given_up = UsersItem::Username(Reservation::new(name, owner).given_up());
    // When this fails, others have to wait for a moment.
    let _ = blog.users.replace(&partition, Reservation::ID, &given_up, reservation).await;
}

/// Whether a reservation, unless its owner has the name, was left behind by a crash. One that was
/// given up says itself that nobody needs to wait for it.
pub(super) fn is_leaked(held: &Reservation) -> bool {
    !is_pending(held) && held.reserved_at != Timestamp::EPOCH
}

/// Deletes a reservation whose owner neither has the name nor can still take it: as a take-over,
/// but for nobody. A conflict when the owner has the name.
pub(super) async fn free(blog: &Blog, held: &Stored<Reservation>) -> Result<(), ApiError> {
    let Stored { item: held, etag } = held;
    fence(blog, held.key(), held).await?;
    let partition = format!("{}{}", Reservation::PREFIX, held.key());
    Ok(blog.users.delete(&partition, Reservation::ID, etag).await?)
}

fn is_pending(held: &Reservation) -> bool {
    Timestamp::now().millis_since(held.reserved_at) < PENDING_MILLIS
}

/// Makes sure that the holder of a reservation neither has the name nor can still take it.
async fn fence(blog: &Blog, key: &str, held: &Reservation) -> Result<(), ApiError> {
    const TAKEN: ApiError = ApiError::Conflict("This username is taken.");
    let holder = held.owner.as_str();
    let slot = blog.user_slot(&held.owner).await?;
    if let UserSlot::User(user) = &slot
        && user.item.public.username.key() == key
    {
        return Err(TAKEN);
    }
    if is_pending(held) {
        return Err(TAKEN);
    }
    tracing::info!(user.id = holder, "Taking over a username that was reserved but not used");
    let (fence, etag) = match slot {
        UserSlot::User(user) => (UsersItem::User(user.item), Some(user.etag)),
        UserSlot::Mark(etag, mark) => (UsersItem::NoUser(mark), Some(etag)),
        UserSlot::Empty => (UsersItem::NoUser(NoUser::new(&held.owner)), None),
    };
    blog.users.put(holder, holder, &fence, etag.as_ref()).await?;
    Ok(())
}
