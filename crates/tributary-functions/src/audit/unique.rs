//! The audit of unique values: each value of an owner is reserved for it, and no reservation is left over.
//! The repairs have the guards of [`unique_claim`](crate::engines::unique_claim).

use std::marker::PhantomData;

use super::{
    AuditedItem, CheckResults, Checks, FindingKind, Obstacle, RepairResult, Slot, Suspect, Target,
    async_trait, read_slot,
};
use crate::{
    cosmos::{Container, StoreError, Stored},
    engines::unique_claim::{Claims, Reservation, UniqueValues, free},
    projection::ChangeFeedItem,
};

/// The checks of the owners in a container and of their reservations, for an audit that has others, too.
pub struct UniqueChecks<T>(Container, PhantomData<fn() -> T>);

impl<T: UniqueValues> UniqueChecks<T> {
    /// Creates the checks of a container of owners.
    pub fn new(owners: &Container) -> Self {
        Self(owners.clone(), PhantomData)
    }

    async fn check_owner(&self, owner: &T, audited: &AuditedItem) -> CheckResults {
        let mut suspects = Vec::new();
        let id = owner.key().0;
        for (_, key) in owner.keys() {
            let (kind, found, etag) = match read_slot::<T::Items>(&self.0, &key, T::ID).await? {
                Slot::Item(Stored { item, etag }) => match item.try_into() {
                    Ok(Reservation { owner, .. }) if owner == id => continue,
                    Ok(Reservation { owner, .. }) => {
                        let kind = if self.has_value(&owner, &key).await? {
                            FindingKind::NAME_TWICE
                        } else {
                            FindingKind::RESERVATION_FOREIGN
                        };
                        (kind, format!("reserved for {owner}"), etag.to_string())
                    }
                    Err(_) => {
                        let kind = FindingKind::RESERVATION_MISSING;
                        (kind, "another item".to_owned(), etag.to_string())
                    }
                },
                Slot::Empty => {
                    (FindingKind::RESERVATION_MISSING, "not reserved".to_owned(), String::new())
                }
                // The audit reports the unreadable item by itself.
                Slot::Unreadable(_) => continue,
            };
            let expected = format!("{key:?} reserved for {id}");
            let evidence = format!("{} {etag}", audited.etag);
            suspects.push(audited.suspect(kind, (expected, found), evidence));
        }
        Ok(suspects)
    }

    async fn check_reservation(&self, held: &Reservation, audited: &AuditedItem) -> CheckResults {
        if !held.is_leaked() || self.has_value(&held.owner, &audited.partition_key).await? {
            return Ok(Vec::new());
        }
        let words = (format!("{} with this value", held.owner), "reserved, not used");
        Ok(vec![audited.suspect(FindingKind::RESERVATION_LEAKED, words, &audited.etag)])
    }

    async fn has_value(&self, owner: &str, key: &str) -> Result<bool, StoreError> {
        Ok(match read_slot::<T::Items>(&self.0, owner, owner).await? {
            Slot::Item(stored) => T::try_from(stored.item).is_ok_and(|owner| owner.has_value(key)),
            Slot::Empty => false,
            Slot::Unreadable(_) => true,
        })
    }
}

#[async_trait]
impl<T: UniqueValues> Checks for UniqueChecks<T> {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.0, T::Items::PARTITION_KEY)]
    }

    async fn check_item(&self, audited: &AuditedItem, _fresh: bool) -> CheckResults {
        let item: T::Items = match audited.parse() {
            Ok(item) => item,
            Err(unreadable) => return Ok(unreadable),
        };
        match T::try_from(item).map_err(TryInto::try_into) {
            Ok(owner) => self.check_owner(&owner, audited).await,
            Err(Ok(reservation)) => self.check_reservation(&reservation, audited).await,
            Err(Err(_)) => Ok(Vec::new()),
        }
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let Target::Item { partition_key: partition, id, .. } = &suspect.target else {
            return Err(Obstacle::Race);
        };
        match suspect.finding.kind {
            FindingKind::RESERVATION_LEAKED => {
                let slot = read_slot::<T::Items>(&self.0, partition, id).await?;
                let Slot::Item(Stored { item, etag }) = slot else { return Err(Obstacle::Race) };
                let item = item.try_into().map_err(|_| Obstacle::Race)?;
                let is_free = free::<T>(&self.0, partition, &Stored { item, etag }).await?;
                is_free.then_some("deleted the reservation").ok_or(Obstacle::Race)
            }
            FindingKind::RESERVATION_MISSING | FindingKind::RESERVATION_FOREIGN => {
                let owner = self.0.item::<T>(partition, id).await?;
                let Stored { item, etag } = owner.ok_or(Obstacle::Race)?;
                let former = item.claims().former;
                let item = item.with_claims(Claims { former, ..Claims::default() });
                self.0.claim(item, Some(&etag)).await?;
                Ok("reserved the value")
            }
            FindingKind::NAME_TWICE => {
                Err(Obstacle::NeedsOperator("two owners have this value: change one of them"))
            }
            _ => Err(Obstacle::NeedsOperator("its type is unknown: restore or delete it")),
        }
    }

    fn may_log_partition_key(&self, partition_key: &str) -> bool {
        !partition_key.contains(':')
    }
}
