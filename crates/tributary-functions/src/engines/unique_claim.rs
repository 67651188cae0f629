//! Unique values, which one owner at a time has: the name of a user.
//!
//! A value belongs to the owner that holds its reservation and whose own item has the value. The
//! reservation is an item in a logical partition of its own, so that two commands for one value
//! meet at one item, and owners spread over all partitions.
//!
//! # How a domain uses it
//!
//! 1. A type with the container implements [`UniqueValue`]; reservations and owners are in the same
//!    container, and the items have a variant for a [`Reservation`]. The key of a value, by which
//!    it is compared, has its kind and, say, its text in lower case: `username:ann`. So a container
//!    may have values of several kinds. A key is the logical partition of its reservation.
//! 2. A command reads the owner's item, and calls [`claim`] with the item to be written: it reserves the values,
//!    writes the item under the ETag that was read (or as a new one), and releases former values. If the write
//!    fails for good, it gives the values up.
//! 3. The owner's item keeps the ETag of the reservation, and that of each value that it has given
//!    up, until [`release`] has deleted the reservation: after the write, or by the change feed where
//!    the command was killed.
//! 4. The audit deletes [leaked](ValueReservation::is_leaked) reservations by [`free`].
//!
//! # Why two owners never have one value
//!
//! 1. The reservation and the owner's item are in two partitions, so no transaction covers both. A
//!    crash between the two writes leaves an unused reservation.
//! 2. Another owner may take such a value over, after a pause. It reads the reservation, then *fences*
//!    the first owner by writing the first owner's item unchanged (or a tombstone where there is
//!    none), which changes its ETag, and then replaces the reservation under the ETag that it read.
//! 3. Take a reservation `r`, written after its owner read its item at `e`, and another owner that
//!    read `r`. If the first owner writes its item before the other reads it, the other finds the
//!    value in use and gives up.
//! 4. If the first owner writes later, it meets the fence and fails, as `e` is no longer the ETag. It
//!    starts over and writes the reservation again, and one of the two finds the reservation changed.
//! 5. So correctness needs no clock. The pause before a take-over only saves both the trouble.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cosmos::{Container, ETag, Reason, StoreError, Stored},
    projection::{ChangeFeedItem, ContainerItem},
    values::Timestamp,
};

/// The time, in milliseconds, before another owner may take over a reservation whose value the holder's
/// item has not: commands rarely take longer.
const PENDING_MILLIS: u64 = 10_000;

/// The values of a container, each of which has one owner.
pub trait UniqueValue: Sync {
    /// The id of a reservation within its own logical partition.
    const ID: &'static str;
    /// An item of the container, with its type.
    type Item: Serialize + DeserializeOwned + Send + Sync;
    /// The id of an owner, which is the partition key of its item, too.
    type Owner: AsRef<str> + Clone + PartialEq + Send + Sync;

    /// Returns the container of reservations and owners.
    fn container(&self) -> &Container;

    /// Returns the item of a reservation.
    fn item(key: &str, reserved: &ValueReservation<Self::Owner>) -> Self::Item;

    /// Returns the reservation, unless the item is something else.
    fn reserved(item: &Self::Item) -> Option<ValueReservation<Self::Owner>>;

    /// Returns the ETag of the reservation of a value, if this item of an owner has the value.
    fn reservation<'a>(item: &'a Self::Item, key: &str) -> Option<&'a str>;

    /// Returns the tombstone of an owner that does not exist. It expires long after any command has ended.
    fn no_owner(owner: &Self::Owner) -> Self::Item;
}

/// The reservation of a value by an owner that has it, had it, or is about to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueReservation<O> {
    /// The owner.
    pub owner: O,
    /// The time at which the owner reserved the value last; `None` when the owner has given it up since.
    pub since: Option<Timestamp>,
}

impl<O> ValueReservation<O> {
    /// Returns true if a crash has left the reservation, provided that its owner has not the value. A
    /// reservation that was given up is not leaked: the next owner replaces it at once.
    pub fn is_leaked(&self) -> bool {
        self.since.is_some() && !self.is_pending()
    }

    fn is_pending(&self) -> bool {
        self.since.is_some_and(|since| Timestamp::now().millis_since(since) < PENDING_MILLIS)
    }
}

/// A reservation as it is stored; one that its owner has given up, as of 1970.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation<O> {
    id: String,
    /// The owner, or the one whose command is claiming the value.
    pub owner: O,
    reserved_at: Timestamp,
    #[serde(flatten, skip_deserializing)]
    key: BTreeMap<&'static str, String>,
}

impl<O: Clone> Reservation<O> {
    /// Creates the reservation of the value with this key.
    pub fn new<U: UniqueValue<Item: ChangeFeedItem>>(
        key: &str,
        reserved: &ValueReservation<O>,
    ) -> Self {
        Self {
            id: U::ID.to_owned(),
            owner: reserved.owner.clone(),
            reserved_at: reserved.since.unwrap_or(Timestamp::EPOCH),
            key: [(U::Item::PARTITION_KEY, key.to_owned())].into(),
        }
    }

    /// Returns the owner and the time of the reservation.
    pub fn reserved(&self) -> ValueReservation<O> {
        let since = Some(self.reserved_at).filter(|since| *since != Timestamp::EPOCH);
        ValueReservation { owner: self.owner.clone(), since }
    }
}

/// Reserves values for an owner, and writes the owner's item over the state with the ETag `read`; creates it
/// without one. `item` is made with the ETags of the reservations. Then releases `former` values of the owner, each
/// with the ETag of its reservation. Returns `None` if another owner has one of the values, or is about to write it.
pub async fn claim<U: UniqueValue, T: ContainerItem<Items = U::Item>>(
    values: &U,
    owner: &U::Owner,
    (keys, former): (&[String], &[(String, ETag)]),
    item: impl FnOnce(&[ETag]) -> T,
    read: Option<&ETag>,
) -> Result<Option<Stored<T>>, StoreError> {
    let container = values.container();
    let mut reservations = Vec::new();
    let mut written: Result<Option<Stored<T>>, StoreError> = async {
        for key in keys {
            let Some(reservation) = reserve(values, key, owner).await? else { return Ok(None) };
            reservations.push(reservation);
        }
        container.save(item(&reservations), read).await.map(Some)
    }
    .await;
    let is_lost = written.as_ref().is_err_and(|error| error.answer_lost);
    if is_lost && reservations.len() == keys.len() {
        let latest = container.latest_committed().item::<T>(owner, owner).await;
        // No other write has these reservations. So an item with them is this write.
        let own = latest.ok().flatten().filter(|Stored { item, .. }| {
            let item = item.clone().into();
            let mut reserved = keys.iter().zip(&reservations);
            reserved.all(|(key, etag)| U::reservation(&item, key) == Some(etag.as_ref()))
        });
        if own.is_none() {
            return written;
        }
        written = Ok(own);
    }
    if let Ok(Some(_)) = written {
        for (key, reservation) in former {
            if let Err(StoreError { reason, .. }) = release(values, key, reservation).await {
                tracing::info!(?reason, "The change feed will release the old value");
            }
        }
    } else {
        for (key, reservation) in keys.iter().zip(&reservations) {
            give_up(values, key, owner, reservation).await;
        }
    }
    written
}

/// Reserves a value for an owner, whose item was read before (or is known to be new), and is written afterwards.
async fn reserve<U: UniqueValue>(
    values: &U,
    key: &str,
    owner: &U::Owner,
) -> Result<Option<ETag>, StoreError> {
    let container = values.container();
    let since = Some(Timestamp::now());
    let ours = U::item(key, &ValueReservation { owner: owner.clone(), since });
    let conflict = match container.create(key, U::ID, &ours).await {
        Err(error) if error.reason == Reason::Conflict => error,
        written => return written.map(Some),
    };
    let Some(held) = container.read::<U::Item>(key, U::ID).await? else {
        return Err(conflict); // Released meanwhile: the caller retries.
    };
    if let Some(reserved) = U::reserved(&held.item)
        && reserved.owner != *owner
        && !fence(values, key, &reserved).await?
    {
        return Ok(None);
    }
    match container.replace(key, U::ID, &ours, &held.etag).await {
        Err(gone) if gone.reason == Reason::NotFound => Err(conflict), // The same.
        written => written.map(Some),
    }
}

/// Releases a value that its owner no longer has. A later reservation of the value, by any owner, has
/// another ETag and stays.
pub async fn release<U: UniqueValue>(
    values: &U,
    key: &str,
    reservation: &ETag,
) -> Result<(), StoreError> {
    match values.container().delete(key, U::ID, reservation).await {
        Err(error) if !matches!(error.reason, Reason::NotFound | Reason::PreconditionFailed) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Lets other owners reserve a value at once that its owner has reserved, but not written. The reservation
/// is not deleted: another command of the same owner may be about to write the value.
async fn give_up<U: UniqueValue>(values: &U, key: &str, owner: &U::Owner, reservation: &ETag) {
    let given_up = U::item(key, &ValueReservation { owner: owner.clone(), since: None });
    // If this fails, other owners wait until the reservation is no longer pending.
    let _ = values.container().replace(key, U::ID, &given_up, reservation).await;
}

/// Deletes a reservation whose owner neither has the value nor can still write it: a take-over without a
/// new owner. Returns false if the owner has the value, or may be about to write it.
pub async fn free<U: UniqueValue>(
    values: &U,
    key: &str,
    held: &Stored<ValueReservation<U::Owner>>,
) -> Result<bool, StoreError> {
    if !fence(values, key, &held.item).await? {
        return Ok(false);
    }
    values.container().delete(key, U::ID, &held.etag).await?;
    Ok(true)
}

/// Fences the holder of a reservation: afterwards it neither has the value nor can still write it. Returns false
/// if the holder has the value, or may be about to write it.
async fn fence<U: UniqueValue>(
    values: &U,
    key: &str,
    held: &ValueReservation<U::Owner>,
) -> Result<bool, StoreError> {
    let container = values.container();
    let holder = held.owner.as_ref();
    let slot = container.read::<U::Item>(holder, holder).await?;
    let is_in_use = slot.as_ref().is_some_and(|slot| U::reservation(&slot.item, key).is_some());
    if is_in_use || held.is_pending() {
        return Ok(false);
    }
    tracing::info!(owner.id = holder, "Taking over a value that was reserved but not used");
    let (fence, etag) = match slot {
        Some(Stored { item, etag }) => (item, Some(etag)),
        None => (U::no_owner(&held.owner), None),
    };
    container.put(holder, holder, &fence, etag.as_ref()).await?;
    Ok(true)
}
