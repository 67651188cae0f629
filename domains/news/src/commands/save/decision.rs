//! The next step of a command that stores an item, as a pure function of the attempt's reads so far.

use std::iter;

use tributary_functions::{
    cosmos::{ETag, Reads, Stored},
    engines::idempotency::RemembersCommands,
    values::{CommandId, Timestamp},
};

use crate::{
    model::{Ages, NewItem, PartitionKey, Progress, Strategy, Tier},
    moves::{Departure, FoundItem, Location, Place, StoredItem, unfinished_from},
};

/// The reads of an attempt so far.
#[derive(Default)]
pub(super) struct AttemptReads {
    pub(super) location: Lookup<Stored<Location>>,
    pub(super) found: Lookup<FoundItem>,
    pub(super) migrated: Option<Timestamp>,
    /// True if the attempt has removed the carried copies of the item.
    pub(super) has_no_carried_copy: bool,
}

/// The result of a read, if it was made.
#[derive(Default)]
pub(super) enum Lookup<T> {
    #[default]
    NotRead,
    Missing,
    Found(T),
}

impl<T> From<Option<T>> for Lookup<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Missing, Self::Found)
    }
}

/// The next step of an attempt. After each of the first four the attempt has read more. Each of the
/// others is the last step.
#[derive(Debug)]
pub(super) enum SaveStep {
    /// Read the location.
    ReadLocation,
    /// Find the item of this partition.
    Find(PartitionKey),
    /// Read the progress of the migration.
    ReadProgress,
    /// Delete carried copies, so that no list shows the item under its former date.
    RemoveCarried { partition_key: PartitionKey, tiers: Vec<Tier> },
    /// Decide again by the latest committed state: the item may have moved, or be in a container
    /// that the replica does not show yet.
    Confirm,
    /// End the move that has left this place. Then the attempt ends as a lost race.
    EndMove(Place),
    /// Bring the item to the colder container, as a run of the migration may be doing. Then the attempt
    /// ends as a lost race.
    EndMoveToColder { from: Place, to: Tier },
    /// Write the location of a new item, then the item.
    Create(Place),
    /// Create a missing item whose location exists, with this ETag. The attempt that wrote the
    /// location has not written the item yet, and may still be under way.
    ///
    /// Each such attempt writes the location first, so an attempt that has read the location before
    /// loses. If the item belongs in another place by now, a tombstone in the former place makes a
    /// late create there fail.
    CreateAgain { place: Place, former: Option<Place>, location: ETag },
    /// Write the item in its present place.
    Edit { tier: Tier, item: StoredItem, etag: ETag },
    /// Move the item.
    Move {
        here: Place,
        item: Box<Stored<StoredItem>>,
        location: Stored<Location>,
        departure: Departure,
    },
    /// Answer: the command has created the item before.
    Created(Stored<StoredItem>),
    /// Answer: the command has edited the item before.
    Edited(Stored<StoredItem>),
}

/// An attempt to store an item.
pub(super) struct Decision<'a> {
    pub(super) new: &'a NewItem,
    pub(super) command: &'a CommandId,
    pub(super) strategy: &'a Strategy,
    pub(super) ages: &'a Ages,
    pub(super) reads: Reads,
    pub(super) now: Timestamp,
}

impl Decision<'_> {
    pub(super) fn next(&self, reads_so_far: &AttemptReads) -> SaveStep {
        match (&reads_so_far.location, &reads_so_far.found) {
            (Lookup::NotRead, _) => SaveStep::ReadLocation,
            (Lookup::Missing, _) => {
                self.place(reads_so_far).map_or(SaveStep::ReadProgress, SaveStep::Create)
            }
            (Lookup::Found(location), Lookup::NotRead) => {
                SaveStep::Find(location.item.place.partition_key.clone())
            }
            (Lookup::Found(location), Lookup::Missing) => self.create_again(reads_so_far, location),
            (Lookup::Found(location), Lookup::Found(found)) => {
                self.put(reads_so_far, location, found)
            }
        }
    }

    fn create_again(&self, reads_so_far: &AttemptReads, location: &Stored<Location>) -> SaveStep {
        if self.reads != Reads::Latest {
            return SaveStep::Confirm;
        }
        let Some(place) = self.place(reads_so_far) else { return SaveStep::ReadProgress };
        let former = Some(location.item.place.clone()).filter(|former| *former != place);
        SaveStep::CreateAgain { place, former, location: location.etag.clone() }
    }

    fn put(
        &self,
        reads_so_far: &AttemptReads,
        location: &Stored<Location>,
        FoundItem { tier, stored }: &FoundItem,
    ) -> SaveStep {
        let Stored { item, etag } = stored;
        if item.created_by == *self.command {
            return SaveStep::Created(stored.clone());
        }
        if item.knows(self.command) {
            return SaveStep::Edited(stored.clone());
        }
        let here = Place { tier: *tier, partition_key: item.public.partition_key.clone() };
        if let Some(left) = unfinished_from(item, &here, &location.item) {
            return SaveStep::EndMove(left);
        }
        let published = item.public.published_date;
        let to = if published == self.new.published_date {
            here.clone()
        } else {
            // The item is about to change its position in lists.
            let Some(progress) = self.progress(reads_so_far, published) else {
                return SaveStep::ReadProgress;
            };
            if self.ages.may_be_leaving(*tier, published, progress)
                && let Some(to) = tier.colder()
            {
                return SaveStep::EndMoveToColder { from: here, to };
            }
            let hotter: Vec<Tier> = iter::successors(tier.hotter(), |tier| tier.hotter()).collect();
            if !hotter.is_empty() && !reads_so_far.has_no_carried_copy {
                return SaveStep::RemoveCarried {
                    partition_key: here.partition_key,
                    tiers: hotter,
                };
            }
            let Some(place) = self.place(reads_so_far) else { return SaveStep::ReadProgress };
            place
        };
        let public = self.new.stored_in(to.partition_key.clone(), self.now);
        if to == here {
            let item = item.edited(public, self.command);
            return SaveStep::Edit { tier: *tier, item, etag: etag.clone() };
        }
        let departure = Departure { to, item: public, command: self.command.clone() };
        SaveStep::Move {
            here,
            item: Box::new(stored.clone()),
            location: location.clone(),
            departure,
        }
    }

    /// Returns the place of the item, unless the progress has to be read first.
    fn place(&self, reads_so_far: &AttemptReads) -> Option<Place> {
        let progress = self.progress(reads_so_far, self.new.published_date)?;
        Some(self.strategy.place(self.ages, self.new, progress))
    }

    /// Returns the progress for an item of this date, unless it has to be read first.
    fn progress(&self, reads_so_far: &AttemptReads, published: Timestamp) -> Option<Progress> {
        Progress::for_young_item(published, self.now)
            .or_else(|| Some(Progress { now: self.now, migrated_before: reads_so_far.migrated? }))
    }
}

#[cfg(test)]
mod tests;
