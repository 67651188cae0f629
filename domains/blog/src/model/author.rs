//! The user of a post, comment or like.

use super::Username;
use tributary_functions::values::{self, id_rule};

values::checked_text!(
    /// The id of a user.
    UserId, "ann", id_rule
);

/// The fields of an author that copies keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub user_id: UserId,
    pub username: Username,
    pub version: u64,
}
