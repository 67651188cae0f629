//! The findings of an audit, and their repairs.

use std::fmt;

use serde::Serialize;

use crate::cosmos::{Reason, Refusal, StoreError};

/// A divergence, in ids, names, versions and numbers: never in contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The kind of divergence.
    pub kind: FindingKind,
    /// The container of the item.
    pub container: &'static str,
    /// The logical partition of the item.
    pub partition_key: String,
    /// The item that is wrong, or missing.
    pub id: String,
    /// The value by its source.
    pub expected: String,
    /// The stored value.
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repair: Option<Repair>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Repair {
    pub repaired: bool,
    pub what: String,
}

/// A kind of divergence; `docs/audit.md` says what each means. A domain has kinds of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct FindingKind {
    /// The kind as tables and JSON show it.
    pub name: &'static str,
    #[serde(skip)]
    class: &'static str,
    #[serde(skip)]
    pub(super) repaired_last: bool,
}

impl FindingKind {
    /// A count is not the number of the children.
    pub const COUNT_DIFFERS: Self = Self::new("count-differs");
    /// An embedded name is not that of its source.
    pub const NAME_DIFFERS: Self = Self::new("name-differs");
    /// A child whose parent does not exist.
    pub const ORPHAN: Self = Self::new("orphan");
    /// A source without its copy.
    pub(crate) const COPY_MISSING: Self = Self::new("copy-missing");
    /// A copy that should not exist.
    pub const COPY_EXTRA: Self = Self::new("copy-extra").in_class_of(Self::COPY_MISSING);
    pub(crate) const COPY_OLDER: Self = Self::new("copy-older").in_class_of(Self::COPY_MISSING);
    pub(crate) const COPY_NEWER: Self = Self::new("copy-newer").in_class_of(Self::COPY_MISSING);
    pub(crate) const COPY_DIFFERENT: Self =
        Self::new("copy-different").in_class_of(Self::COPY_MISSING);
    pub(crate) const MEMBER_MISSING: Self = Self::new("member-missing");
    pub(crate) const MEMBER_DIFFERENT: Self =
        Self::new("member-different").in_class_of(Self::MEMBER_MISSING);
    pub(crate) const MEMBER_EXTRA: Self =
        Self::new("member-extra").in_class_of(Self::MEMBER_MISSING);
    pub(crate) const REFILL_PENDING: Self = Self::new("refill-pending");
    /// Repaired after a foreign reservation, whose repair takes it over for the right owner.
    pub(crate) const RESERVATION_LEAKED: Self = Self::new("reservation-leaked").repaired_last();
    pub(crate) const RESERVATION_MISSING: Self = Self::new("reservation-missing");
    pub(crate) const RESERVATION_FOREIGN: Self =
        Self::new("reservation-foreign").in_class_of(Self::RESERVATION_MISSING);
    pub(crate) const NAME_TWICE: Self =
        Self::new("name-twice").in_class_of(Self::RESERVATION_MISSING);
    /// An item that cannot be read. The repair of its source may have written it anew.
    pub const UNREADABLE: Self = Self::new("unreadable").repaired_last();

    /// The kinds that any domain can have.
    pub const SHARED: [Self; 17] = [
        Self::COUNT_DIFFERS,
        Self::NAME_DIFFERS,
        Self::ORPHAN,
        Self::COPY_MISSING,
        Self::COPY_EXTRA,
        Self::COPY_OLDER,
        Self::COPY_NEWER,
        Self::COPY_DIFFERENT,
        Self::MEMBER_MISSING,
        Self::MEMBER_DIFFERENT,
        Self::MEMBER_EXTRA,
        Self::REFILL_PENDING,
        Self::RESERVATION_LEAKED,
        Self::RESERVATION_MISSING,
        Self::RESERVATION_FOREIGN,
        Self::NAME_TWICE,
        Self::UNREADABLE,
    ];

    /// Creates a kind.
    pub const fn new(name: &'static str) -> Self {
        Self { name, class: name, repaired_last: false }
    }

    /// Returns the kind in the class of `first`. An item with any kind of the class is not repaired yet.
    pub const fn in_class_of(self, first: Self) -> Self {
        Self { class: first.class, ..self }
    }

    /// Returns true if the kind is about a copy: missing, extra, older, newer or different.
    pub fn concerns_copy(self) -> bool {
        self.class == Self::COPY_MISSING.class
    }

    /// Returns a kind that is repaired after all others that were found with it.
    pub const fn repaired_last(self) -> Self {
        Self { repaired_last: true, ..self }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The item or group in which a divergence was seen, and which is checked again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// An item, with what is derived from it.
    Item {
        /// The container.
        container: &'static str,
        /// The logical partition.
        partition_key: String,
        /// The id.
        id: String,
    },
    /// A [check of many items](super::Checks::check_group), by its name.
    Group(&'static str),
}

/// A divergence that may only be a change on its way.
#[derive(Debug, Clone)]
pub struct Suspect {
    /// The item or group to check again.
    pub target: Target,
    /// The finding that is reported if the suspect stands.
    pub finding: Finding,
    /// What must not change while the suspect waits: the state of the copy, or the ETag of an extra item.
    pub evidence: String,
}

/// The result of a check: a suspect, or none.
pub type CheckResult = Result<Option<Suspect>, StoreError>;

/// The result of the checks of an item or a group: its suspects.
pub type CheckResults = Result<Vec<Suspect>, StoreError>;

impl Finding {
    /// Returns true if the divergence was repaired.
    pub fn is_repaired(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.repaired)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.item_key() == other.item_key()
    }

    fn item_key(&self) -> (&str, &str, &str) {
        (self.container, &self.partition_key, &self.id)
    }
}

impl Suspect {
    pub(super) fn is_unchanged_from(&self, other: &Self) -> bool {
        self.finding.is_same(&other.finding) && self.evidence == other.evidence
    }

    pub(super) fn remains_from(&self, other: &Self) -> bool {
        let now = &self.finding;
        let before = &other.finding;
        let same_class = now.kind.class == before.kind.class;
        now.item_key() == before.item_key() && (same_class || now.kind == FindingKind::UNREADABLE)
    }
}

/// The reason for which a repair did nothing.
#[derive(Debug)]
pub enum Obstacle {
    /// A lost race: check again.
    Race,
    /// No program can decide this. The sentence says what the operator can do.
    NeedsOperator(&'static str),
    /// The store refused it.
    Store(StoreError),
}

/// The action of a repair in words, or its obstacle.
pub type RepairResult = Result<&'static str, Obstacle>;

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        if error.is_race() || error.reason == Reason::NotFound {
            Self::Race
        } else {
            Self::Store(error)
        }
    }
}

impl From<Refusal> for Obstacle {
    fn from(refusal: Refusal) -> Self {
        refusal.error.into()
    }
}
