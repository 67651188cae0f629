//! Users, the reservations of their names, and the authors that copies keep.

use std::mem;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::unique_claim::Reservation,
    projection::{fan_out::Continuation, item, items},
    values::{self, Timestamp, id_rule},
};

use super::{DeletedPost, PostCopy, Username};

/// An item of the container `users`. Users are the sources of names.
#[items(partition_key = "userId", sources(User, Renaming))]
pub enum UsersItem {
    User(User),
    /// The tombstone of a user that was never created, written when another user claims the name
    /// reserved for it.
    NoUser(NoUser),
    /// The continuation of a rename. In the alphabet its type does not come between those of posts
    /// and of users: the list of a user's posts reads from the one to the other.
    #[serde(rename = "markOfRename")]
    Renaming(Continuation),
    /// The reservation of a username for its user. The partition key is made of the name
    /// ([`Username::reservation`]). So reservations spread over all partitions, and two claims of
    /// one name conflict at one item. No id of a user contains a colon.
    Username(Reservation),
    /// The copy of a post in the partition of its author.
    Post(PostCopy),
    /// The tombstone of the copy of a deleted post.
    DeletedPost(DeletedPost),
}

/// The most former names that a user item keeps: so many renames may follow each other before the
/// change feed delivers the item. With names of a usual length the item stays below 1 KB, the unit
/// of charges for reads. In the background, a rename reads one reservation for each of them.
const MAX_FORMER_NAMES: usize = 4;

/// A user, with the commands that were lately carried out under a condition. Each rename raises the version.
#[item(UsersItem, id = user_id, version, recent, tombstone(NoUser))]
pub struct User {
    #[serde(flatten)]
    pub public: PublicUser,
    /// The partition key; equal to the id.
    pub user_id: UserId,
    /// The ETag of the reservation of the name, as its owner wrote it last.
    pub reservation: String,
    /// The names before this one, the last one last. Their reservations may not be released yet: of
    /// several versions that follow each other, the change feed delivers only the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerName>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormerName {
    pub username: Username,
    /// The ETag of its reservation when the user gave it up.
    pub reservation: String,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "User")]
pub struct PublicUser {
    /// Chosen by the caller, or a UUIDv7.
    pub id: UserId,
    /// As the user wrote it.
    pub username: Username,
    /// The date of creation.
    pub creation_date: Timestamp,
}

/// The tombstone of a user that was never created. It makes the create of a slow command fail, whose
/// reservation another user has claimed.
#[item(UsersItem, id = user_id)]
pub struct NoUser {
    id: String,
    user_id: String,
    ttl: u32,
}

impl User {
    pub fn new(user_id: UserId, username: Username) -> Self {
        let public = PublicUser { id: user_id.clone(), username, creation_date: Timestamp::now() };
        Self::first(public, user_id, String::new(), Vec::new())
    }

    /// Returns the user in its next version, with a new name. "bob" and "Bob" share a reservation.
    pub fn renamed(mut self, username: Username) -> Self {
        let former = mem::replace(&mut self.public.username, username);
        if former.key() != self.public.username.key() {
            let reservation = mem::take(&mut self.reservation);
            let forgotten = (self.former.len() + 1).saturating_sub(MAX_FORMER_NAMES);
            self.former.drain(..forgotten);
            self.former.push(FormerName { username: former, reservation });
        }
        self.version += 1;
        self
    }

    /// Returns the author, as copies of this user keep it.
    pub fn author(&self) -> Author {
        Author {
            user_id: self.user_id.clone(),
            username: self.public.username.clone(),
            version: self.version,
        }
    }
}

impl NoUser {
    /// Creates the tombstone of a user. It expires after a day, long after any command has ended.
    pub fn new(user_id: &str) -> Self {
        Self { id: user_id.to_owned(), user_id: user_id.to_owned(), ttl: 24 * 60 * 60 }
    }
}

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
