//! Checks of `users`: reservations of names both ways, and copies without a post.

use tributary_functions::{
    audit::{AuditedItem, CheckResult, FindingKind, ReferencedItem, Slot, Suspect, read_slot},
    engines::unique_claim::{Reservation, UniqueValue},
    prelude::*,
};

use super::{BlogChecks, BlogKinds};
use crate::{
    Blog,
    model::{PostCopy, User, UserId, UsersItem},
};

impl BlogChecks {
    pub(super) async fn check_users_item(
        &self,
        item: UsersItem,
        audited: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let suspect = match item {
            UsersItem::User(user) => self.check_user(&user, audited).await?,
            UsersItem::Username(reservation) => {
                self.check_reservation(&reservation, audited).await?
            }
            UsersItem::Post(copy) => self.check_source(&copy, audited, fresh).await?,
            UsersItem::NoUser(_) | UsersItem::Renaming(_) | UsersItem::DeletedPost(_) => None,
        };
        Ok(suspect.into_iter().collect())
    }

    /// Checks the reservation of a user's name. If two users have one name, one of them has the
    /// reservation.
    async fn check_user(&self, user: &User, audited: &AuditedItem) -> CheckResult {
        let name = &user.public.username;
        let expected = format!("{:?} reserved for {}", name.as_str(), user.user_id);
        let partition = name.reservation();
        let slot: Slot<UsersItem> = read_slot(&self.blog.users, &partition, Blog::ID).await?;
        let (kind, found, etag) = match slot {
            Slot::Item(Stored { item: UsersItem::Username(held), .. })
                if held.owner == user.user_id =>
            {
                return Ok(None);
            }
            Slot::Item(Stored { item: UsersItem::Username(held), etag }) => {
                let twice = self.user_has_name(&held.owner, &partition).await?;
                let kind =
                    if twice { BlogKinds::NAME_TWICE } else { BlogKinds::RESERVATION_FOREIGN };
                (kind, format!("reserved for {}", held.owner), etag.to_string())
            }
            Slot::Item(Stored { etag, .. }) => {
                (BlogKinds::RESERVATION_MISSING, "another item".into(), etag.to_string())
            }
            Slot::Empty => (BlogKinds::RESERVATION_MISSING, "not reserved".into(), String::new()),
            // The audit reports the unreadable item by itself.
            Slot::Unreadable(_) => return Ok(None),
        };
        let evidence = format!("{} {etag}", audited.etag);
        Ok(Some(audited.suspect(kind, (expected, found), evidence)))
    }

    async fn check_reservation(
        &self,
        held: &Reservation<UserId>,
        audited: &AuditedItem,
    ) -> CheckResult {
        if !held.reserved().is_leaked()
            || self.user_has_name(&held.owner, &audited.partition_key).await?
        {
            return Ok(None);
        }
        let words =
            (format!("user {} with this name", held.owner), "reserved, not used".to_owned());
        Ok(Some(audited.suspect(BlogKinds::RESERVATION_LEAKED, words, &audited.etag)))
    }

    async fn check_source(
        &self,
        copy: &PostCopy,
        audited: &AuditedItem,
        fresh: bool,
    ) -> CheckResult {
        let post_id = &copy.public.post_id;
        let found = match self.parent(post_id, fresh).await? {
            ReferencedItem::Live(post)
                if post.user_id.as_str() == audited.partition_key
                    && audited.id == PostCopy::id_in_users(post_id) =>
            {
                return Ok(None);
            }
            ReferencedItem::Live(post) => format!("a copy of a post of {}", post.user_id),
            ReferencedItem::Missing => format!("a copy of version {}, but no post", copy.version),
            ReferencedItem::Unreadable => return Ok(None),
        };
        Ok(Some(audited.suspect(FindingKind::COPY_EXTRA, ("none", found), &audited.etag)))
    }

    async fn user_has_name(&self, user_id: &UserId, name: &str) -> Result<bool, StoreError> {
        Ok(match self.author(user_id, true).await? {
            ReferencedItem::Live(user) => user.username.reservation() == name,
            ReferencedItem::Missing => false,
            ReferencedItem::Unreadable => true,
        })
    }
}
