//! Unique values, which one owner at a time has: the name of a user.
//!
//! A value belongs to the owner that holds its reservation and whose own item has the value. The reservation is
//! an item in a logical partition of its own, so that two commands for one value meet at one item.
//!
//! # How a domain uses it
//!
//! 1. The item of an owner, whose id is its partition key, names its values:
//!    `#[item(…, unique(username, email))]`. The `enum` of its container has a variant for a [`Reservation`].
//!    Values are compared in lower case, by a key with the name of the property, `username:ann`. The key is the
//!    logical partition of the reservation.
//! 2. A command writes the owner by [`Container::claim`] in the place of `save`: it reserves the new values,
//!    writes the item under the ETag that was read (or as a new one), and releases former values. If another
//!    owner has a value, the error names its property ([`ApiError::Taken`]). If the write fails for good, it
//!    gives the values up.
//! 3. The owner's item keeps its [`Claims`]: the ETag of the reservation of each value, and those of the last few
//!    former ones, which the change feed can [release](release_former) where the command was killed.
//! 4. [`Container::owner_of`] finds the owner of a value.
//! 5. [`Audit::of_unique_values`](crate::audit::Audit::of_unique_values) deletes what crashes have left.
//!
//! # Why two owners never have one value
//!
//! 1. No transaction covers the reservation and the owner's item. A crash between the two writes leaves an unused
//!    reservation, which another owner may take over after a pause. It reads the reservation, then *fences* the
//!    first owner by writing the first owner's item unchanged (or a [fence](UniqueValues::no_owner) where there
//!    is none), which changes its ETag, and then replaces the reservation under the ETag that it read.
//! 2. Take a reservation `r`, written after its owner read its item at `e`, and another owner that read `r`. If
//!    the first owner writes its item before the other reads it, the other finds the value in use and gives up.
//! 3. If the first owner writes later, it meets the fence and fails, as `e` is no longer the ETag. It starts over
//!    and writes the reservation again, and one of the two finds the reservation changed. A new owner that meets
//!    a fence reserves all its values again, and replaces the fence under the ETag that it read before.
//! 4. A value that stays from one write of the owner to the next keeps its reservation: the owner's item has the
//!    value all the time, so no other owner takes it over. An item has several values only together: each is
//!    reserved before the item is written, and a refused one gives the others up.
//! 5. So correctness needs no clock. The pause before a take-over only saves both the trouble.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    cosmos::{Container, ETag, ReadResult, Reason, StoreError, Stored},
    http::ApiError,
    projection::{ChangeFeedItem, ContainerItem, FrameworkItem, Origin},
    values::Timestamp,
};

/// Commands rarely take longer from the reservation to the write of the owner.
const PENDING_MILLIS: u64 = 10_000;

const MAX_FORMER: usize = 4;

/// The time to live of a fence, in seconds: long after any command has ended.
const FENCE_SECONDS: u32 = 24 * 60 * 60;

/// The item of an owner of unique values. [`item`](macro@crate::projection::item) implements it for `unique(…)`.
pub trait UniqueValues:
    ContainerItem<Items: ChangeFeedItem + From<Reservation> + TryInto<Reservation, Error: Send>>
    + Send
    + Sync
    + 'static
{
    /// The id of a reservation within its own logical partition.
    const ID: &'static str = "reservation";

    /// Returns the values, each with the name of its property. They are compared in lower case.
    fn values(&self) -> Vec<(&'static str, String)>;

    /// Returns the reservations of the owner, as its item keeps them.
    fn claims(&self) -> Claims;

    /// Returns the item with these reservations.
    fn with_claims(self, claims: Claims) -> Self;

    /// Returns the fence in the place of an owner that does not exist.
    fn no_owner(owner: &str) -> Self::Items {
        Reservation { ttl: Some(FENCE_SECONDS), ..Reservation::new::<Self>(owner, owner, None) }
            .into()
    }

    #[doc(hidden)]
    fn keys(&self) -> Vec<(&'static str, String)> {
        let values = self.values().into_iter();
        values.map(|(property, value)| (property, key_of(property, &value))).collect()
    }

    #[doc(hidden)]
    fn has_value(&self, key: &str) -> bool {
        self.keys().iter().any(|(_, own)| own == key)
    }
}

/// The reservations of an owner, each by the key of its value and the ETag under which the owner wrote it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Claims {
    /// Those of its values.
    pub held: BTreeMap<String, String>,
    /// Those of the last few values that it has given up, the last one last: they may not be released yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<(String, String)>,
}

/// The reservation of a value by an owner that has it, had it, or is about to write it; or a fence, of no owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    id: String,
    /// The owner, or the one whose command is claiming the value.
    pub owner: String,
    reserved_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
    #[serde(flatten, skip_deserializing)]
    key: BTreeMap<&'static str, String>,
}

impl Reservation {
    fn new<T: UniqueValues>(key: &str, owner: &str, since: Option<Timestamp>) -> Self {
        Self {
            id: if key == owner { key } else { T::ID }.to_owned(),
            owner: owner.to_owned(),
            reserved_at: since.unwrap_or(Timestamp::EPOCH),
            ttl: None,
            key: [(T::Items::PARTITION_KEY, key.to_owned())].into(),
        }
    }

    /// A reservation that was given up is not leaked: the next owner replaces it at once.
    pub(crate) fn is_leaked(&self) -> bool {
        self.reserved_at != Timestamp::EPOCH && !self.is_pending()
    }

    fn is_pending(&self) -> bool {
        Timestamp::now().millis_since(self.reserved_at) < PENDING_MILLIS
    }
}

impl FrameworkItem for Reservation {
    fn origin(&self) -> Option<Origin> {
        None
    }
}

fn key_of(property: &str, value: &str) -> String {
    format!("{property}:{}", value.to_lowercase())
}

impl Container {
    /// Writes an owner over the state with the ETag `read`, and claims its unique values: a request more for each new
    /// and each former one. [`ApiError::Taken`] names the property of a value that another owner has.
    pub async fn claim<T: UniqueValues>(
        &self,
        item: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, ApiError> {
        let written = claim_over(self, item.clone(), read).await;
        let conflict = |error: &ApiError| matches!(error, ApiError::Store(error) if error.reason == Reason::Conflict);
        if read.is_none() && written.as_ref().is_err_and(conflict) {
            let (owner, _) = item.key();
            let slot = self.latest_committed().read::<T::Items>(owner, owner).await?;
            if let Some(Stored { item: fence, etag }) = slot
                && TryInto::<Reservation>::try_into(fence).is_ok()
            {
                return claim_over(self, item, Some(&etag)).await;
            }
        }
        written
    }

    /// Reads the owner of a value, by its property and its text: two point reads.
    pub async fn owner_of<T: UniqueValues>(
        &self,
        property: &str,
        value: impl AsRef<str>,
    ) -> ReadResult<T> {
        let key = key_of(property, value.as_ref());
        let reserved = self.read::<T::Items>(&key, T::ID).await?;
        let Some(Ok(Reservation { owner, .. })) = reserved.map(|it| it.item.try_into()) else {
            return Ok(None);
        };
        let owner = self.item::<T>(&owner, &owner).await?;
        Ok(owner.filter(|owner| owner.item.has_value(&key)))
    }
}

async fn claim_over<T: UniqueValues>(
    container: &Container,
    item: T,
    read: Option<&ETag>,
) -> Result<Stored<T>, ApiError> {
    let owner = item.key().0.to_owned();
    let values = item.keys();
    let mut claims = item.claims();
    let is_held = |key: &str| values.iter().any(|(_, own)| own == key);
    let (held, given_up) = claims.held.into_iter().partition(|(key, _)| is_held(key));
    claims.held = held;
    let given_up: Vec<(String, String)> = BTreeMap::into_iter(given_up).collect();
    claims.former.extend(given_up.iter().cloned());
    claims.former.drain(..claims.former.len().saturating_sub(MAX_FORMER));
    let wanted: Vec<_> = values.iter().filter(|(_, key)| !claims.held.contains_key(key)).collect();
    let mut reserved = Vec::new();
    let mut written: Result<Stored<T>, ApiError> = async {
        for (property, key) in &wanted {
            let reservation = reserve::<T>(container, key, &owner).await?;
            let reservation = reservation.ok_or(ApiError::Taken(property))?;
            claims.held.insert(key.clone(), reservation.to_string());
            reserved.push((key, reservation));
        }
        Ok(container.save(item.with_claims(claims), read).await?)
    }
    .await;
    let is_lost = matches!(&written, Err(ApiError::Store(error)) if error.answer_lost);
    if is_lost && !reserved.is_empty() && reserved.len() == wanted.len() {
        let latest = container.latest_committed().item::<T>(&owner, &owner).await;
        // No other write has these reservations. So an item with them is this write.
        let own = latest.ok().flatten().filter(|stored| {
            let held = stored.item.claims().held;
            reserved.iter().all(|(key, etag)| held.get(*key).is_some_and(|it| it == etag.as_ref()))
        });
        let Some(own) = own else { return written };
        written = Ok(own);
    }
    if written.is_ok() {
        for (key, reservation) in &given_up {
            let reservation = ETag::from(reservation.clone());
            if let Err(StoreError { reason, .. }) = release::<T>(container, key, &reservation).await
            {
                tracing::info!(?reason, "The change feed will release the old value");
            }
        }
    } else {
        for (key, reservation) in reserved {
            give_up::<T>(container, key, &owner, &reservation).await;
        }
    }
    written
}

async fn reserve<T: UniqueValues>(
    container: &Container,
    key: &str,
    owner: &str,
) -> Result<Option<ETag>, StoreError> {
    let ours: T::Items = Reservation::new::<T>(key, owner, Some(Timestamp::now())).into();
    let conflict = match container.create(key, T::ID, &ours).await {
        Err(error) if error.reason == Reason::Conflict => error,
        written => return written.map(Some),
    };
    let Some(held) = container.read::<T::Items>(key, T::ID).await? else {
        return Err(conflict); // Released meanwhile: the caller retries.
    };
    if let Ok::<Reservation, _>(reserved) = held.item.try_into()
        && reserved.owner != owner
        && !fence::<T>(container, key, &reserved).await?
    {
        return Ok(None);
    }
    match container.replace(key, T::ID, &ours, &held.etag).await {
        Err(gone) if gone.reason == Reason::NotFound => Err(conflict), // The same.
        written => written.map(Some),
    }
}

/// Releases the former values of an owner, as the change feed delivers it.
pub async fn release_former<T: UniqueValues>(
    container: &Container,
    owner: &T,
) -> Result<(), StoreError> {
    for (key, reservation) in owner.claims().former {
        release::<T>(container, &key, &ETag::from(reservation)).await?;
    }
    Ok(())
}

/// A later reservation of the value, by any owner, has another ETag and stays.
async fn release<T: UniqueValues>(
    container: &Container,
    key: &str,
    reservation: &ETag,
) -> Result<(), StoreError> {
    match container.delete(key, T::ID, reservation).await {
        Err(error) if !matches!(error.reason, Reason::NotFound | Reason::PreconditionFailed) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The reservation is not deleted: another command of the same owner may be about to write the value.
async fn give_up<T: UniqueValues>(
    container: &Container,
    key: &str,
    owner: &str,
    reservation: &ETag,
) {
    let given_up: T::Items = Reservation::new::<T>(key, owner, None).into();
    // If this fails, other owners wait until the reservation is no longer pending.
    let _ = container.replace(key, T::ID, &given_up, reservation).await;
}

pub(crate) async fn free<T: UniqueValues>(
    container: &Container,
    key: &str,
    held: &Stored<Reservation>,
) -> Result<bool, StoreError> {
    if !fence::<T>(container, key, &held.item).await? {
        return Ok(false);
    }
    container.delete(key, T::ID, &held.etag).await?;
    Ok(true)
}

/// Returns false if the holder has the value, or may be about to write it.
async fn fence<T: UniqueValues>(
    container: &Container,
    key: &str,
    held: &Reservation,
) -> Result<bool, StoreError> {
    let holder = held.owner.as_str();
    let slot = container.read::<T::Items>(holder, holder).await?;
    let is_in_use = slot
        .as_ref()
        .is_some_and(|slot| T::try_from(slot.item.clone()).is_ok_and(|owner| owner.has_value(key)));
    if is_in_use || held.is_pending() {
        return Ok(false);
    }
    tracing::info!(owner.id = holder, "Taking over a value that was reserved but not used");
    let (fence, etag) = match slot {
        Some(Stored { item, etag }) => (item, Some(etag)),
        None => (T::no_owner(holder), None),
    };
    container.put(holder, holder, &fence, etag.as_ref()).await?;
    Ok(true)
}
