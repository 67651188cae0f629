//! Tombstones: the items that deleted items leave under their ids.
//!
//! | rule | reason |
//! | --- | --- |
//! | It has the id of the item and the version after its last | the change feed carries it to every copy as one more version; a late older version does not bring a copy back |
//! | A new item replaces it under its ETag, in the version after it | copies of the deleted item are older than those of the new one |
//! | It has the time to live of [`TTL_SECONDS`]; its copies get theirs later | it outlasts every delivery of an older version, and no copy of it expires first |
//! | It keeps the commands that the item remembers ([`idempotency`](super::idempotency)) | a repeated delete is recognised |
//! | An item of another owner that replaces it keeps the [`FormerOwners`], each for as long as a tombstone | copies in the partition of a former owner are removed, too |
//!
//! Children of a deleted parent are removed by [`removal`](crate::projection::removal).

use serde::{Deserialize, Serialize};

use crate::values::Timestamp;

/// The time to live of a tombstone, in seconds: 30 days. It must outlast every delivery of an older version.
pub const TTL_SECONDS: u32 = 30 * 24 * 60 * 60;

/// The most former owners of an item: each change of the item reads the copy in the partition of each.
const MAX_FORMER_OWNERS: usize = 4;

/// The owners that an item had before the present one, each until it was deleted: copies with them stay, since the
/// change feed may never deliver the tombstone in between. The item and its tombstone keep the list, with
/// `#[serde(default, skip_serializing_if = "FormerOwners::is_empty")]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FormerOwners(Vec<FormerOwner>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FormerOwner {
    /// The id of the owner.
    pub id: String,
    /// The version of the tombstone by which it lost the item.
    pub version: u64,
    /// The second until which it is kept.
    #[serde(default = "expiry")]
    until: i64,
}

/// An owner of an earlier release has no second, and gets this one.
fn expiry() -> i64 {
    Timestamp::now().unix_seconds() + i64::from(TTL_SECONDS)
}

impl FormerOwners {
    /// Returns true if the item has had no other owner.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FormerOwner> {
        self.0.iter()
    }

    /// Returns the owners that are kept by now.
    pub fn unexpired(&self) -> Self {
        let now = Timestamp::now().unix_seconds();
        Self(self.iter().filter(|owner| now <= owner.until).cloned().collect())
    }

    /// Returns the former owners of an item that `next` creates over the tombstone of `deleted`, which has this
    /// version. `None`: there are too many, and the first of them expires within 30 days.
    pub fn followed_by(&self, deleted: &str, version: u64, next: &str) -> Option<Self> {
        let last = FormerOwner { id: deleted.to_owned(), version, until: expiry() };
        let mut owners = self.unexpired();
        owners.0.retain(|owner| owner.id != deleted);
        owners.0.push(last);
        owners.0.retain(|owner| owner.id != next);
        (owners.0.len() <= MAX_FORMER_OWNERS).then_some(owners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_knows_each_of_its_former_owners_once_and_none_that_has_it_again() {
        let of = |owners: &FormerOwners| -> Vec<(String, u64)> {
            owners.iter().map(|owner| (owner.id.clone(), owner.version)).collect()
        };
        let owners = FormerOwners::default().followed_by("ann", 2, "ann").unwrap();
        assert!(owners.is_empty());
        let owners = owners.followed_by("ann", 4, "bob").unwrap();
        let owners = owners.followed_by("bob", 6, "cid").unwrap();
        assert_eq!(of(&owners), [("ann".to_owned(), 4), ("bob".to_owned(), 6)]);
        let owners = owners.followed_by("cid", 8, "ann").unwrap();
        assert_eq!(of(&owners), [("bob".to_owned(), 6), ("cid".to_owned(), 8)]);
    }
}
