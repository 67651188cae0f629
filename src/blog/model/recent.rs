//! The memory of the last commands that left nothing else to know them by.

use serde::{Deserialize, Serialize};

use crate::values::{CommandId, Timestamp};

/// How long a command is remembered, in seconds. The Functions host repeats a request for two, and
/// the clocks of two instances differ by less than the rest.
const KEPT_SECONDS: i64 = 10;

/// How many commands are remembered: about 6 KB.
const MOST: usize = 256;

/// The commands that were lately carried out on an item, and cannot be told by the item: a deleted
/// comment or like is gone, and an edit may have been followed by others.
///
/// A command that finds itself here was carried out before: it was repeated by the host, or the
/// answer of the store was lost. The list is part of the write that it remembers, so it costs no
/// store request, and it survives the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(Vec<(CommandId, i64)>);

impl Recent {
    /// Returns true if the command was carried out.
    pub fn knows(&self, command: &CommandId) -> bool {
        self.0.iter().any(|(known, _)| known == command)
    }

    /// Returns true if no command is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds commands that are carried out now, and forgets the old ones.
    pub fn remember(&mut self, commands: impl IntoIterator<Item = CommandId>, now: Timestamp) {
        let now = now.unix_seconds();
        self.0.retain(|(_, since)| now - since <= KEPT_SECONDS);
        self.0.extend(commands.into_iter().map(|command| (command, now)));
        let too_many = self.0.len().saturating_sub(MOST);
        self.0.drain(..too_many);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_is_remembered_for_a_while_and_the_list_stays_small() {
        let later = Timestamp::now();
        let first = later.before(Duration::from_secs(11));
        let [old, new] = ["old", "new"].map(CommandId::of);
        let mut recent = Recent::default();
        recent.remember([old.clone()], first);
        assert!(recent.knows(&old) && !recent.knows(&new));
        recent.remember([new.clone()], first.next());
        assert!(recent.knows(&old) && recent.knows(&new));
        recent.remember([], later.next());
        assert!(recent.is_empty());

        let many: Vec<_> = (0..300).map(|n| CommandId::of(&n.to_string())).collect();
        recent.remember(many.clone(), later);
        assert!(!recent.knows(&many[43]) && many[44..].iter().all(|one| recent.knows(one)));
        assert!(serde_json::to_string(&recent).unwrap().len() < 6_500);
    }
}
