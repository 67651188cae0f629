//! What posts, comments and likes have of their user.

use super::Username;
use tributary_functions::values::{self, check_id};

values::checked_text!(
    /// The id of a user.
    UserId,
    "ann",
    |text| check_id(&text).map(|()| text)
);

/// What copies keep of their author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The author's id.
    pub user_id: UserId,
    /// The name as of `version`.
    pub username: Username,
    /// The version of the user that the name was taken from.
    pub version: u64,
}
