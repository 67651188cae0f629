//! Repeated commands: the evidence that a command was carried out. A command is repeated by the host (a connection was
//! lost), by the app itself (the response of the store was lost), or by its caller, with an `Idempotency-Key`.
//!
//! | the command | the evidence |
//! | --- | --- |
//! | creates an item under an id that its caller chose | the item's id and content, or a command in the item |
//! | creates an item under an id of the app | an id that is derived from the [`IdempotencyKey`], or made once before the first attempt |
//! | deletes an item, or edits one under a condition | [`RecentCommands`] in the remaining item: the parent, the tombstone, the item itself |
//! | creates an item that was deleted since | [`RecentCommands`] in the parent, which keeps the id of a deleted child for longer |
//!
//! An item whose commands leave no other evidence keeps a [`RecentCommands`], with
//! `#[serde(default, skip_serializing_if = "RecentCommands::is_empty")]`, and implements [`RemembersCommands`] by
//! the macro `remembers`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::values::{CommandId, Invalid, Timestamp};

/// The value of the header `Idempotency-Key`: 1 to 255 printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub(crate) fn parse(text: &str) -> Result<Self, Invalid> {
        let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if (1..=255).contains(&text.len()) && printable {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be 1 to 255 printable ASCII characters".into())
        }
    }

    pub(crate) fn derived_id(&self, scope: &str) -> String {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{scope} {}", self.0).as_bytes()).to_string()
    }
}

/// An item that remembers the commands that were lately carried out on it.
pub trait RemembersCommands {
    /// Returns the commands.
    fn recent(&self) -> &RecentCommands;

    /// Returns the commands, to add to them.
    fn recent_mut(&mut self) -> &mut RecentCommands;

    /// Returns true if the item keeps the command that created it, and it is this one.
    fn was_created_by(&self, _command: &CommandId) -> bool {
        false
    }

    /// Returns true if the command was carried out on the item, or has created it, if the item keeps that.
    fn knows(&self, command: &CommandId) -> bool {
        self.was_created_by(command) || self.recent().knows(command)
    }

    /// Returns the item with the memory of a command that is carried out on it now.
    fn remembering(mut self, command: &CommandId) -> Self
    where
        Self: Sized,
    {
        self.recent_mut().remember([command.clone()], Timestamp::now());
        self
    }
}

/// Implements [`RemembersCommands`] for items with a field `recent`, and with `created_by` also one of that name.
#[macro_export]
macro_rules! remembers {
    ($($item:ty),+) => {
        $($crate::engines::idempotency::remembers!(@ $item, );)+
    };
    (created_by: $($item:ty),+) => {
        $($crate::engines::idempotency::remembers!(@ $item,
            fn was_created_by(&self, command: &$crate::values::CommandId) -> bool {
                self.created_by == *command
            }
        );)+
    };
    (@ $item:ty, $($created:item)?) => {
        impl $crate::engines::idempotency::RemembersCommands for $item {
            fn recent(&self) -> &$crate::engines::idempotency::RecentCommands {
                &self.recent
            }

            fn recent_mut(&mut self) -> &mut $crate::engines::idempotency::RecentCommands {
                &mut self.recent
            }

            $($created)?
        }
    };
}
pub use crate::remembers;

const KEPT_SECONDS: i64 = CommandId::REPEATED_FOR.as_secs().cast_signed();

/// A caller whose answer was lost repeats its request within this time.
const DELETED_KEPT_SECONDS: i64 = 10 * 60;

/// About 6 KB, which each write of the item pays for. A delete may have two: its command and its child.
const MAX_REMEMBERED_ENTRIES: usize = 256;

/// The commands that were lately carried out on an item which does not show them: a deleted child is gone, and edits
/// follow edits. The list is part of the write that it remembers. Each entry has the second until which it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecentCommands(Vec<(CommandId, i64)>);

impl RecentCommands {
    /// Returns true if the command was carried out.
    pub fn knows(&self, command: &CommandId) -> bool {
        self.0.iter().any(|(known, _)| known == command)
    }

    /// Returns true if no command is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds commands that are carried out now, and removes expired entries.
    pub fn remember(&mut self, commands: impl IntoIterator<Item = CommandId>, now: Timestamp) {
        self.add(commands, now, KEPT_SECONDS);
    }

    pub(crate) fn remember_deleted(
        &mut self,
        children: impl IntoIterator<Item = String>,
        now: Timestamp,
    ) {
        self.add(children.into_iter().map(|id| deletion_of(&id)), now, DELETED_KEPT_SECONDS);
    }

    pub(crate) fn has_deleted(&self, id: &str, now: Timestamp) -> bool {
        let deletion = deletion_of(id);
        let now = now.unix_seconds();
        self.0.iter().any(|(known, until)| *known == deletion && now <= *until)
    }

    fn add(&mut self, entries: impl IntoIterator<Item = CommandId>, now: Timestamp, kept: i64) {
        let now = now.unix_seconds();
        self.0.retain(|(_, until)| now <= *until);
        self.0.extend(entries.into_iter().map(|entry| (entry, now + kept)));
        let too_many = self.0.len().saturating_sub(MAX_REMEMBERED_ENTRIES);
        self.0.drain(..too_many);
    }
}

fn deletion_of(id: &str) -> CommandId {
    CommandId::from_text(&format!("deleted {id}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_is_remembered_for_a_while_and_the_list_stays_small() {
        // Azure answers a caller within 230 s.
        assert!(CommandId::REPEATED_FOR > Duration::from_secs(230));
        let later = Timestamp::now();
        let first = later.before(CommandId::REPEATED_FOR + Duration::from_secs(1));
        let [old, new] = ["old", "new"].map(CommandId::from_text);
        let mut recent = RecentCommands::default();
        recent.remember([old.clone()], first);
        assert!(recent.knows(&old) && !recent.knows(&new));
        recent.remember([new.clone()], first.next());
        assert!(recent.knows(&old) && recent.knows(&new));
        recent.remember([], later.next());
        assert!(recent.is_empty());

        recent.remember_deleted(["child".to_owned()], first);
        recent.remember([], later);
        assert!(recent.has_deleted("child", later) && !recent.has_deleted("other", later));
        let long_ago = later.before(Duration::from_secs(601));
        let mut old = RecentCommands::default();
        old.remember_deleted(["child".to_owned()], long_ago);
        assert!(!old.has_deleted("child", later));

        let many: Vec<_> = (0..300).map(|n| CommandId::from_text(&n.to_string())).collect();
        recent.remember(many.clone(), later);
        assert!(!recent.knows(&many[43]) && many[44..].iter().all(|command| recent.knows(command)));
        assert!(serde_json::to_string(&recent).unwrap().len() < 6_500);
    }
}
