//! The divergences of the copies of an item and its location.
//!
//! Each divergence is reported once, for one copy: the copy that expires, the copy in the wrong
//! place, or the hotter one of two copies in one partition.

use std::time::Duration;

use tributary_functions::{engines::relocation::CopyState, values::Timestamp};

use super::known::{Copy, Known, KnownLocation, Seen};
use crate::model::{StoredItem, Tier};

/// The time after which a move counts as unsettled work. A command makes a move in a second. The
/// host ends a function after 10 minutes; then another command or run has to end the move.
const MOVE: Duration = Duration::from_mins(5);

/// A divergence of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The copy will expire, and it alone has this version of the item.
    Expiring,
    /// The item is live in a second place, too.
    Twice(Twice),
    /// The copy departs to this partition, and the move has not ended in time.
    MovePending(String),
    /// The location of the item is missing, or names this partition instead.
    Location(Option<String>),
}

/// The evidence for the right one of two copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Twice {
    /// The other copy is in this colder container: one of the two is a relocation's copy.
    Colder(Tier),
    /// The location names the copy in this partition.
    Located(String),
    /// There is no evidence.
    Unknown,
}

impl Known {
    /// Returns the divergences of the copy in `tier`, of which `stored` was read.
    pub(super) fn judge(&self, tier: Tier, stored: &StoredItem, now: Timestamp) -> Vec<Wrong> {
        let Some(own) = self.copy(tier, stored.public.partition_key.as_str()) else {
            return Vec::new();
        };
        let expires = stored.state != CopyState::Carried && stored.expires();
        let location = self.location();
        let wrong = match &own.seen {
            Seen::Vacated | Seen::Unreadable => return Vec::new(),
            Seen::Carried(version) => {
                return Vec::from_iter(self.is_lost_with(own, *version).then_some(Wrong::Expiring));
            }
            Seen::Departing { to, since, .. } => {
                let to = to.partition_key.as_str();
                let elsewhere = location
                    .and_then(KnownLocation::partition_key)
                    .filter(|key| *key != own.key && *key != to)
                    .filter(|key| self.truths().any(|copy| copy.key == *key));
                let pending =
                    || (*since < now.before(MOVE)).then(|| Wrong::MovePending(to.to_owned()));
                let twice = |key: &str| Wrong::Twice(Twice::Located(key.to_owned()));
                Vec::from_iter(elsewhere.map(twice).or_else(pending))
            }
            Seen::Here(_) => {
                let mut wrong = Vec::new();
                if self.in_partition(own).all(|other| other.tier >= own.tier) {
                    wrong.extend(self.place(own, location));
                    let colder = self.in_partition(own).map(|other| other.tier);
                    let colder = colder.filter(|tier| *tier > own.tier).min();
                    wrong.extend(colder.map(|store| Wrong::Twice(Twice::Colder(store))));
                }
                wrong
            }
        };
        expires.then_some(Wrong::Expiring).into_iter().chain(wrong).collect()
    }

    /// Returns the place and version of an item whose location is missing or names another place.
    pub(super) fn dislocated(&self) -> Option<(Tier, String, u64)> {
        let location = self.location();
        let hottest =
            |own: &&Copy| own.is_here() && self.in_partition(own).all(|one| one.tier >= own.tier);
        let is_wrong = |own: &&Copy| matches!(self.place(own, location), Some(Wrong::Location(_)));
        let own = self.copies.iter().filter(hottest).find(is_wrong)?;
        match own.seen {
            Seen::Here(version) => Some((own.tier, own.key.clone(), version)),
            _ => None,
        }
    }

    fn truths(&self) -> impl Iterator<Item = &Copy> {
        self.copies.iter().filter(|copy| copy.truth().is_some())
    }

    /// Returns the live copies in the partition of `own`, itself included.
    fn in_partition<'a>(&'a self, own: &'a Copy) -> impl Iterator<Item = &'a Copy> {
        self.copies.iter().filter(|copy| copy.key == own.key && copy.is_here())
    }

    /// Returns true if a carried copy expires with a version that no other copy has. Of several
    /// such copies, this is true of the newest.
    fn is_lost_with(&self, own: &Copy, version: u64) -> bool {
        let is_newer = |other: &Copy| match other.seen {
            Seen::Carried(there) => (there, other.tier, &other.key) > (version, own.tier, &own.key),
            Seen::Here(there) | Seen::Departing { version: there, .. } => there >= version,
            // The unreadable copy may be the item.
            Seen::Unreadable => true,
            Seen::Vacated => false,
        };
        let is_brought_there = |other: &Copy| other.key == own.key && other.tier > own.tier;
        !self.copies.iter().any(is_newer)
            && (self.truths().next().is_none() || self.truths().any(is_brought_there))
    }

    /// Compares the place of a live copy, the hottest of its partition, with the location.
    fn place(&self, own: &Copy, location: Option<&KnownLocation>) -> Option<Wrong> {
        // The command or run that ends a move to this place writes the location.
        let arrives = self.copies.iter().any(
            |copy| matches!(&copy.seen, Seen::Departing { to, .. } if to.partition_key.as_str() == own.key),
        );
        let place = location.and_then(|location| location.place.as_ref());
        let key = place.map(|place| place.partition_key.as_str());
        if let Some(place) = place.filter(|_| key == Some(&own.key)) {
            // From there the item goes to colder containers, never back.
            let words = || format!("{} {}", place.tier.as_str(), place.partition_key);
            return (place.tier > own.tier && !arrives).then(|| Wrong::Location(Some(words())));
        }
        if arrives {
            return None;
        }
        let mut others = self.truths().filter(|copy| copy.key != own.key).peekable();
        if others.peek().is_none() {
            let words = |location: &KnownLocation| {
                location.place.as_ref().map_or("unreadable".to_owned(), |place| {
                    format!("{} {}", place.tier.as_str(), place.partition_key)
                })
            };
            return Some(Wrong::Location(location.map(words)));
        }
        let right = key.filter(|key| others.any(|copy| copy.key == *key));
        Some(Wrong::Twice(right.map_or(Twice::Unknown, |key| Twice::Located(key.to_owned()))))
    }
}
