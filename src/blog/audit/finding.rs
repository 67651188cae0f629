//! What an audit finds.

use std::fmt;

use serde::{Serialize, Serializer};

/// A divergence, in ids, names, versions and numbers: never in contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// The container of the item.
    pub container: &'static str,
    /// The logical partition of the item.
    pub partition_key: String,
    /// The item that is wrong, or missing.
    pub id: String,
    /// What its source says.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What became of it, when the audit repairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// Whether the divergence is gone.
    pub mended: bool,
    /// What was done, or why nothing could be.
    pub what: String,
}

/// The kinds of divergence; `docs/audit.md` says what each means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A post's counts are not the numbers of its comments and likes.
    CountDiffers,
    /// A name on a post, comment or like is not the user's.
    NameDiffers,
    /// A post, comment or like of a user who does not exist.
    UserMissing,
    /// A comment or like whose post does not exist.
    Orphan,
    /// A comment or like of an earlier post with the same id.
    StaleReaction,
    /// A post without its copy.
    CopyMissing,
    /// A copy that should not be there.
    CopyExtra,
    /// A copy of an older version.
    CopyOlder,
    /// A copy of a version that the post has not reached.
    CopyNewer,
    /// A copy of the right version with something else in it.
    CopyDifferent,
    /// A post that belongs into the feed and is no member.
    MemberMissing,
    /// A member of the feed under another date than the post's.
    MemberDifferent,
    /// A member of the feed that is no post.
    MemberExtra,
    /// A note that the feed has to be filled up, which nobody has seen to.
    RefillPending,
    /// A username that is reserved for a user who does not have it.
    ReservationLeaked,
    /// A user whose name is not reserved.
    ReservationMissing,
    /// A user whose name is reserved for another user, who does not have it.
    ReservationForeign,
    /// A user whose name another user has too.
    NameTwice,
    /// An item that cannot be read.
    Unreadable,
}

impl Kind {
    /// The kind as tables and JSON show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CountDiffers => "count-differs",
            Self::NameDiffers => "name-differs",
            Self::UserMissing => "user-missing",
            Self::Orphan => "orphan",
            Self::StaleReaction => "stale-reaction",
            Self::CopyMissing => "copy-missing",
            Self::CopyExtra => "copy-extra",
            Self::CopyOlder => "copy-older",
            Self::CopyNewer => "copy-newer",
            Self::CopyDifferent => "copy-different",
            Self::MemberMissing => "member-missing",
            Self::MemberDifferent => "member-different",
            Self::MemberExtra => "member-extra",
            Self::RefillPending => "refill-pending",
            Self::ReservationLeaked => "reservation-leaked",
            Self::ReservationMissing => "reservation-missing",
            Self::ReservationForeign => "reservation-foreign",
            Self::NameTwice => "name-twice",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Kind {
    /// The first of the kinds that turn into each other when somebody writes.
    fn matter(self) -> Self {
        match self {
            Self::NameDiffers | Self::UserMissing => Self::NameDiffers,
            Self::Orphan | Self::StaleReaction => Self::Orphan,
            Self::CopyMissing
            | Self::CopyExtra
            | Self::CopyOlder
            | Self::CopyNewer
            | Self::CopyDifferent => Self::CopyMissing,
            Self::MemberMissing | Self::MemberDifferent | Self::MemberExtra => Self::MemberMissing,
            Self::ReservationMissing | Self::ReservationForeign | Self::NameTwice => {
                Self::ReservationMissing
            }
            Self::CountDiffers
            | Self::RefillPending
            | Self::ReservationLeaked
            | Self::Unreadable => self,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Where a divergence was seen, and is looked for again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// An item, with what is derived from it.
    Item { container: &'static str, partition_key: String, id: String },
    /// The membership of the feed, and the copies in it.
    Feed,
}

/// A divergence that may only be on its way to be mended.
#[derive(Debug, Clone)]
pub(super) struct Suspect {
    pub(super) target: Target,
    pub(super) finding: Finding,
    /// What must not have moved for the suspicion to stand: the state of the copy, which the
    /// change feed would have changed by now. Of an item that should not be there, its ETag.
    pub(super) evidence: String,
}

impl Finding {
    /// Whether it was wrong and is not any more.
    pub(super) fn is_mended(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.mended)
    }

    /// Whether `other` is wrong in the same way in the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.place() == other.place()
    }

    fn place(&self) -> (&str, &str, &str) {
        (self.container, &self.partition_key, &self.id)
    }
}

impl Suspect {
    /// Whether `other` is the same divergence, and nothing was done about it.
    pub(super) fn stands_in(&self, other: &Self) -> bool {
        self.finding.is_same(&other.finding) && self.evidence == other.evidence
    }

    /// Whether this is what has become of `other`: as long as there is any such, `other` is not
    /// mended.
    pub(super) fn is_left_of(&self, other: &Self) -> bool {
        let (left, before) = (&self.finding, &other.finding);
        let same_matter = left.kind.matter() == before.kind.matter();
        left.place() == before.place() && (same_matter || left.kind == Kind::Unreadable)
    }
}
