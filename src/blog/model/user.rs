//! Users and the reservations of their names.

use std::mem;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::{idempotency::Recent, tombstone, unique_claim::Reserved},
    values::{Timestamp, item_types},
};

use super::{Author, DeletedPost, PostCopy, UserId, Username};

/// The items of the container `users`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UsersItem {
    User(User),
    /// The mark that an unknown user leaves when somebody else takes the name reserved for it.
    NoUser(NoUser),
    /// The mark of a rename that goes on. In the alphabet its type does not come between those of
    /// posts and of users: the list of a user's posts reads from the one to the other.
    #[serde(rename = "markOfRename")]
    Renaming(Renaming),
    /// The reservation of a username, in a logical partition of its own.
    Username(Reservation),
    /// The copy of a post in the partition of its author.
    Post(PostCopy),
    /// The mark that the copy of a deleted post leaves.
    DeletedPost(DeletedPost),
}

item_types!(
    UsersItem: User(User), NoUser(NoUser), Renaming(Renaming), Username(Reservation),
    Post(PostCopy), DeletedPost(DeletedPost),
);

/// How many names a user item keeps that the user has given up: as many renames may follow each other
/// before the change feed has come by. With names of a usual length the item stays below 1 KB, by
/// which its reads are charged, and in the background a rename looks at that many reservations.
const FORMER_NAMES: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    #[serde(flatten)]
    pub public: PublicUser,
    /// The partition key; equal to the id.
    pub user_id: UserId,
    /// Raised by each rename.
    pub version: u64,
    /// The ETag of the reservation of the name, as its owner wrote it last.
    pub reservation: String,
    /// The names before this one, the last one last. Their reservations may still be there: the
    /// change feed brings only the newest of several versions that follow each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerName>,
    /// The commands that were lately carried out on the user under a condition.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub recent: Recent,
}

/// A name that a user has given up for another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormerName {
    pub username: Username,
    /// The ETag of its reservation when the user gave it up.
    pub reservation: String,
}

/// What the API shows of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "User")]
pub struct PublicUser {
    /// Chosen by the caller, or a UUIDv7.
    pub id: UserId,
    /// As the user wrote it.
    pub username: Username,
    /// When the user was created.
    pub creation_date: Timestamp,
}

/// Stands where a user might have been created. It keeps a slow
/// command from completing what others no longer wait for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoUser {
    id: UserId,
    user_id: UserId,
    ttl: u32,
}

/// The mark that a rename leaves in its user's partition when it has taken its share of the time.
/// The change feed delivers it after what has changed meanwhile, and then the rename goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renaming {
    id: String,
    pub user_id: UserId,
    /// The version of the user whose name is being brought to the items.
    pub version: u64,
    ttl: u32,
}

impl User {
    /// A user who has just signed up.
    pub fn new(user_id: UserId, username: Username) -> Self {
        let creation_date = Timestamp::now();
        Self {
            public: PublicUser { id: user_id.clone(), username, creation_date },
            user_id,
            version: 1,
            reservation: String::new(),
            former: Vec::new(),
            recent: Recent::default(),
        }
    }

    /// The user with the reservation of its name.
    pub fn holding(mut self, reservation: impl AsRef<str>) -> Self {
        reservation.as_ref().clone_into(&mut self.reservation);
        self
    }

    /// The user under a new name. "bob" becomes "Bob" under the same reservation.
    pub fn renamed(mut self, username: Username) -> Self {
        let former = mem::replace(&mut self.public.username, username);
        if former.key() != self.public.username.key() {
            let reservation = mem::take(&mut self.reservation);
            let forgotten = (self.former.len() + 1).saturating_sub(FORMER_NAMES);
            self.former.drain(..forgotten);
            self.former.push(FormerName { username: former, reservation });
        }
        self.version += 1;
        self
    }

    /// What copies keep of this user.
    pub fn author(&self) -> Author {
        Author {
            user_id: self.user_id.clone(),
            username: self.public.username.clone(),
            version: self.version,
        }
    }
}

impl NoUser {
    /// The mark for a user; it goes away after a day, long after any command has ended.
    pub fn new(user_id: &UserId) -> Self {
        Self { id: user_id.clone(), user_id: user_id.clone(), ttl: 24 * 60 * 60 }
    }
}

impl Renaming {
    /// The id of the mark in the partition of its user. No id of a user or a post contains a colon,
    /// and no copy of a post begins so.
    pub const ID: &'static str = "user:renaming";

    /// The mark of the rename to an author's present name.
    pub fn to(author: &Author) -> Self {
        let (user_id, version) = (author.user_id.clone(), author.version);
        Self { id: Self::ID.into(), user_id, version, ttl: tombstone::TTL_SECONDS }
    }
}

/// Says who has a username. The partition key is made of the name, so reservations spread over
/// all partitions and two users who want one name meet at one item.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    id: String,
    /// The partition key, [`Reservation::partition`]. No id of a user contains a colon.
    user_id: String,
    /// The user who has, or is just about to take, the name.
    pub owner: UserId,
    reserved_at: Timestamp,
}

impl Reservation {
    pub const ID: &'static str = "username";

    /// What the logical partitions of reservations begin with.
    pub const PREFIX: &'static str = "username:";

    /// Creates the reservation of a [`Username::key`].
    pub fn new(key: &str, reserved: &Reserved<UserId>) -> Self {
        Self {
            id: Self::ID.into(),
            user_id: Self::partition(key),
            owner: reserved.owner.clone(),
            reserved_at: reserved.since.unwrap_or(Timestamp::EPOCH),
        }
    }

    /// Returns who has the name, and since when. A name that was given up was reserved in 1970.
    pub fn reserved(&self) -> Reserved<UserId> {
        let since = Some(self.reserved_at).filter(|since| *since != Timestamp::EPOCH);
        Reserved { owner: self.owner.clone(), since }
    }

    /// The [`Username::key`] of the name.
    pub fn key(&self) -> &str {
        self.user_id.strip_prefix(Self::PREFIX).unwrap_or_default()
    }

    /// The logical partition of the reservation of a [`Username::key`].
    pub fn partition(key: &str) -> String {
        format!("{}{key}", Self::PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Username {
        Username::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_user_keeps_the_last_few_names_it_has_given_up() {
        let new = User::new(UserId::parse("bob".into()).unwrap(), name("0"));
        let bob = ["1", "2", "2", "3", "4", "5"].map(name).into_iter().fold(new, User::renamed);
        let former: Vec<_> = bob.former.iter().map(|one| one.username.as_str()).collect();
        assert_eq!(former, ["1", "2", "3", "4"]);
    }
}
