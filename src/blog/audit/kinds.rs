//! The kinds of divergence that only a blog has.

use tributary_functions::audit::Kind;

/// The kinds of the blog, beside those that [any domain](Kind::SHARED) can have.
pub struct Kinds;

impl Kinds {
    /// A post, comment or like of a user who does not exist.
    pub const USER_MISSING: Kind = Kind::new("user-missing").of_matter(Kind::NAME_DIFFERS);
    /// A comment or like of an earlier post with the same id.
    pub const STALE_REACTION: Kind = Kind::new("stale-reaction").of_matter(Kind::ORPHAN);
    /// A username that is reserved for a user who does not have it. A user whose name is reserved
    /// for another takes the reservation over: that must come before its deletion.
    pub const RESERVATION_LEAKED: Kind = Kind::new("reservation-leaked").repaired_last();
    /// A user whose name is not reserved.
    pub const RESERVATION_MISSING: Kind = Kind::new("reservation-missing");
    /// A user whose name is reserved for another user, who does not have it.
    pub const RESERVATION_FOREIGN: Kind =
        Kind::new("reservation-foreign").of_matter(Self::RESERVATION_MISSING);
    /// A user whose name another user has too.
    pub const NAME_TWICE: Kind = Kind::new("name-twice").of_matter(Self::RESERVATION_MISSING);

    pub const ALL: [Kind; 6] = [
        Self::USER_MISSING,
        Self::STALE_REACTION,
        Self::RESERVATION_LEAKED,
        Self::RESERVATION_MISSING,
        Self::RESERVATION_FOREIGN,
        Self::NAME_TWICE,
    ];
}
