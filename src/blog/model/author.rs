//! What posts, comments and likes have of their user.

use super::Username;
use tributary_functions::values::{self, id_rule};

values::checked_text!(
    /// The id of a user.
    UserId, "ann", id_rule
);

/// What copies keep of their author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub user_id: UserId,
    pub username: Username,
    pub version: u64,
}
