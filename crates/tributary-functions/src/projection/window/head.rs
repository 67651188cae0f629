//! The head of a window, and the other items of its logical partition. The head lists the members, and alone
//! decides the membership: each change replaces it under its ETag, in the same transaction that writes or deletes
//! the copies.

use serde::{Deserialize, Serialize};

use crate::{engines::tombstone, values::Timestamp};

/// The list of the members of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowHead {
    id: String,
    /// The members, newest first; at most as many as the capacity of the window.
    members: Vec<Member>,
    /// True if the window has to be refilled from the sources: a member of the full window was deleted. While this is
    /// false, the members are exactly the newest of all sources whose creation was delivered.
    pub refill: bool,
}

/// A source in the head. The newest is the greatest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The creation time of the source, by which the window is sorted.
    pub creation_date: Timestamp,
    /// The id of its copy, which sorts sources of the same millisecond.
    pub id: String,
}

impl Default for WindowHead {
    fn default() -> Self {
        Self { id: Self::ID.into(), members: Vec::new(), refill: false }
    }
}

impl WindowHead {
    /// The id of the head. No id of a source begins with a tilde.
    pub const ID: &'static str = "~head";

    /// Returns the members, newest first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.members.iter().any(|member| member.id == id)
    }

    /// A source that was deleted and created again has a new date, so it is not the same member.
    pub(crate) fn holds(&self, member: &Member) -> bool {
        self.members.contains(member)
    }

    pub(crate) fn is_full(&self, capacity: usize) -> bool {
        self.members.len() >= capacity
    }

    /// None while a refill is due: a late older version of a source could be admitted.
    pub(crate) fn admits(&self, member: &Member, capacity: usize) -> bool {
        !self.holds(member)
            && !self.refill
            && (!self.is_full(capacity)
                || self.members.last().is_some_and(|oldest| member > oldest))
    }

    /// Returns the head with a source in the place of an earlier one with its id, without members beyond `capacity`.
    pub fn admit(&self, member: Member, capacity: usize) -> Self {
        let mut members = self.members.clone();
        members.retain(|known| known.id != member.id);
        members.push(member);
        members.sort_unstable_by(|a, b| b.cmp(a));
        members.truncate(capacity);
        Self { members, ..self.clone() }
    }

    pub(crate) fn filled(&self) -> Self {
        Self { refill: false, ..self.clone() }
    }

    /// Returns the head without a deleted source. A gap in the full window makes a refill due.
    pub(crate) fn remove(&self, id: &str, capacity: usize) -> Self {
        let mut head = self.clone();
        head.members.retain(|member| member.id != id);
        head.refill |= self.is_full(capacity) && !head.is_full(capacity);
        head
    }
}

/// An item of a window as it is stored: a copy, a `WindowTombstone` or the [`WindowHead`], with the partition key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WindowItem<T> {
    r#type: String,
    /// The item.
    #[serde(flatten)]
    pub item: T,
}

impl<T> WindowItem<T> {
    /// Puts an item into the logical partition of a window.
    pub fn new(partition: &str, item: T) -> Self {
        Self { r#type: partition.to_owned(), item }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WindowTombstone {
    id: String,
    pub version: u64,
    ttl: u32,
}

impl WindowTombstone {
    pub(crate) fn new(id: &str, version: u64) -> Self {
        Self { id: id.to_owned(), version, ttl: tombstone::TTL_SECONDS }
    }
}
