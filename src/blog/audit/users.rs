//! Looking at `users`: reservations of names both ways, and copies of posts that should not be.

use super::{
    finding::{Kind, Suspect},
    look::{Looker, Parent, Raw, Slot, read},
};
use crate::{
    blog::{
        model::{PostCopy, Reservation, User, UserId, UsersItem},
        usernames::is_leaked,
    },
    cosmos::{StoreError, Stored},
};

impl Looker {
    pub(super) async fn look_at_users_item(
        &self,
        item: UsersItem,
        raw: &Raw,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let suspect = match item {
            UsersItem::User(user) => self.look_at_user(&user, raw).await?,
            UsersItem::Username(reservation) => self.look_at_reservation(&reservation, raw).await?,
            UsersItem::Post(copy) => self.look_for_post(&copy, raw, fresh).await?,
            UsersItem::NoUser(_) | UsersItem::Renaming(_) | UsersItem::DeletedPost(_) => None,
        };
        Ok(suspect.into_iter().collect())
    }

    /// Two users with one name have one reservation: that of one of them.
    async fn look_at_user(&self, user: &User, raw: &Raw) -> Result<Option<Suspect>, StoreError> {
        let name = &user.public.username;
        let expected = format!("{:?} reserved for {}", name.as_str(), user.user_id);
        let partition = Reservation::partition(name);
        let slot: Slot<UsersItem> = read(&self.blog.users, &partition, Reservation::ID).await?;
        let (kind, found, etag) = match slot {
            Slot::Item(Stored { item: UsersItem::Username(held), .. })
                if held.owner == user.user_id =>
            {
                return Ok(None);
            }
            Slot::Item(Stored { item: UsersItem::Username(held), etag }) => {
                let twice = self.user_has_name(&held.owner, &name.key()).await?;
                let kind = if twice { Kind::NameTwice } else { Kind::ReservationForeign };
                (kind, format!("reserved for {}", held.owner), etag.to_string())
            }
            Slot::Item(Stored { etag, .. }) => {
                (Kind::ReservationMissing, "another item".into(), etag.to_string())
            }
            Slot::Empty => (Kind::ReservationMissing, "not reserved".into(), String::new()),
            // It is found for itself.
            Slot::Unreadable(_) => return Ok(None),
        };
        let evidence = format!("{} {etag}", raw.etag);
        Ok(Some(raw.suspect(kind, (expected, found), evidence)))
    }

    async fn look_at_reservation(
        &self,
        held: &Reservation,
        raw: &Raw,
    ) -> Result<Option<Suspect>, StoreError> {
        if !is_leaked(held) || self.user_has_name(&held.owner, held.key()).await? {
            return Ok(None);
        }
        let words =
            (format!("user {} with this name", held.owner), "reserved, not used".to_owned());
        Ok(Some(raw.suspect(Kind::ReservationLeaked, words, &raw.etag)))
    }

    /// Whether the copy has a post: what is in it is held against the post when that is looked at.
    async fn look_for_post(
        &self,
        copy: &PostCopy,
        raw: &Raw,
        fresh: bool,
    ) -> Result<Option<Suspect>, StoreError> {
        let post_id = &copy.public.post_id;
        let found = match self.parent(post_id, fresh).await? {
            Parent::Live { user_id, .. }
                if user_id.as_str() == raw.partition_key
                    && raw.id == PostCopy::id_in_users(post_id) =>
            {
                return Ok(None);
            }
            Parent::Live { user_id, .. } => format!("a copy of a post of {user_id}"),
            Parent::Gone => format!("a copy of version {}, but no post", copy.version),
            Parent::Unknown => return Ok(None),
        };
        Ok(Some(raw.suspect(Kind::CopyExtra, ("none", found), &raw.etag)))
    }

    async fn user_has_name(&self, user_id: &UserId, key: &str) -> Result<bool, StoreError> {
        Ok(match self.author(user_id, true).await? {
            Slot::Item(user) => user.item.username.key() == key,
            Slot::Empty => false,
            Slot::Unreadable(_) => true,
        })
    }
}
