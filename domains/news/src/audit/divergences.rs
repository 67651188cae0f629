//! The divergences of the copies of an item and its location.
//!
//! Each divergence is reported once, for one copy: the copy that expires, the copy in the wrong
//! place, or the hotter one of two copies in one partition.

use std::time::Duration;

use tributary_functions::prelude::*;

use super::copies::{Copy, ItemCopies, ObservedState};
use crate::{
    model::Tier,
    moves::{CopyState, Place, StoredItem},
};

/// The longest duration of a move that is not reported. A command makes a move in a second. If its
/// process ends meanwhile, another command or run has to end the move.
const MAX_MOVE_DURATION: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Divergence {
    Expiring,
    /// The item is live in another place, too.
    Duplicate(DuplicateEvidence),
    /// The copy departs to this partition, and the move has not ended in time.
    MovePending(String),
    /// The location of the item is missing, or names this partition instead.
    Location(Option<String>),
}

/// The evidence for the right one of two copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DuplicateEvidence {
    /// The other copy is in this colder container: one of the two is the copy of a move.
    Colder(Tier),
    /// The location names the copy in this partition.
    Located(String),
    /// There is no evidence.
    Unknown,
}

impl ItemCopies {
    pub(super) fn divergences(
        &self,
        tier: Tier,
        stored: &StoredItem,
        now: Timestamp,
    ) -> Vec<Divergence> {
        let Some(own) = self.copy(tier, stored.public.partition_key.as_str()) else {
            return Vec::new();
        };
        let expires = stored.state != CopyState::Carried && stored.expires();
        let of_state = match &own.state {
            // The audit reports an unreadable copy by itself.
            ObservedState::Vacated | ObservedState::Unreadable => return Vec::new(),
            ObservedState::Carried(version) => {
                return Vec::from_iter(
                    self.is_lost_with(own, *version).then_some(Divergence::Expiring),
                );
            }
            ObservedState::Departing { to, since, .. } => {
                let to = to.partition_key.as_str();
                // A location that names a third place, with a copy there, has the item.
                let located = self.located().map(|place| place.partition_key.as_str());
                let elsewhere = located
                    .filter(|key| *key != own.key && *key != to)
                    .filter(|key| self.current_copies().any(|copy| copy.key == *key));
                let pending = || {
                    (*since < now.before(MAX_MOVE_DURATION))
                        .then(|| Divergence::MovePending(to.to_owned()))
                };
                let duplicate =
                    |key: &str| Divergence::Duplicate(DuplicateEvidence::Located(key.to_owned()));
                Vec::from_iter(elsewhere.map(duplicate).or_else(pending))
            }
            ObservedState::Live(_) => {
                let mut found = Vec::new();
                // Only the hottest copy of a partition is reported.
                if self.in_partition(own).all(|other| other.tier >= own.tier) {
                    found.extend(self.place_divergence(own));
                    let colder = self.in_partition(own).map(|other| other.tier);
                    let colder = colder.filter(|tier| *tier > own.tier).min();
                    let duplicate = |tier| Divergence::Duplicate(DuplicateEvidence::Colder(tier));
                    found.extend(colder.map(duplicate));
                }
                found
            }
        };
        expires.then_some(Divergence::Expiring).into_iter().chain(of_state).collect()
    }

    /// Returns the place and version that the location must name, if it is missing or names another
    /// place.
    pub(super) fn expected_location(&self) -> Option<(Tier, String, u64)> {
        let hottest =
            |own: &&Copy| own.is_live() && self.in_partition(own).all(|copy| copy.tier >= own.tier);
        let is_wrong =
            |own: &&Copy| matches!(self.place_divergence(own), Some(Divergence::Location(_)));
        let own = self.copies.iter().filter(hottest).find(is_wrong)?;
        match own.state {
            ObservedState::Live(version) => Some((own.tier, own.key.clone(), version)),
            _ => None,
        }
    }

    fn current_copies(&self) -> impl Iterator<Item = &Copy> {
        self.copies.iter().filter(|copy| copy.current_version().is_some())
    }

    fn in_partition<'a>(&'a self, own: &'a Copy) -> impl Iterator<Item = &'a Copy> {
        self.copies.iter().filter(|copy| copy.key == own.key && copy.is_live())
    }

    /// Returns true if a carried copy will expire, and it alone has this version of the item. Of several
    /// such copies, this is true of the newest.
    ///
    /// After a move, a live or departing copy elsewhere is the item, in any version. Without such a copy,
    /// or if that copy is an older one in a colder container of this partition, the carried copy is the
    /// item.
    fn is_lost_with(&self, own: &Copy, version: u64) -> bool {
        let is_newer = |other: &Copy| match other.state {
            ObservedState::Carried(there) => {
                (there, other.tier, &other.key) > (version, own.tier, &own.key)
            }
            ObservedState::Live(there) | ObservedState::Departing { version: there, .. } => {
                there >= version
            }
            // The unreadable copy may be the item.
            ObservedState::Unreadable => true,
            ObservedState::Vacated => false,
        };
        let is_colder = |other: &Copy| other.key == own.key && other.tier > own.tier;
        !self.copies.iter().any(is_newer)
            && (self.current_copies().next().is_none() || self.current_copies().any(is_colder))
    }

    /// Returns the divergence between the place of a live copy, the hottest of its partition, and the
    /// location or the copies in other partitions.
    fn place_divergence(&self, own: &Copy) -> Option<Divergence> {
        // The command or run that ends a move to this place writes the location.
        let arrives = self.copies.iter().any(|copy| copy.departs_to(&own.key));
        let place = self.located();
        let key = place.map(|place| place.partition_key.as_str());
        if let Some(place) = place.filter(|_| key == Some(&own.key)) {
            // From there the item goes to colder containers, never back.
            return (place.tier > own.tier && !arrives)
                .then(|| Divergence::Location(Some(place.to_string())));
        }
        if arrives {
            return None;
        }
        let mut others = self.current_copies().filter(|copy| copy.key != own.key).peekable();
        if others.peek().is_none() {
            let words = || place.map_or("unreadable".to_owned(), Place::to_string);
            return Some(Divergence::Location(self.location.as_ref().map(|_| words())));
        }
        let right = key.filter(|key| others.any(|copy| copy.key == *key));
        let located = |key: &str| DuplicateEvidence::Located(key.to_owned());
        Some(Divergence::Duplicate(right.map_or(DuplicateEvidence::Unknown, located)))
    }
}
