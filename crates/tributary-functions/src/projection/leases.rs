//! The leases of the projections' triggers, as the Functions host stores them: read, never moved.
//!
//! The container `leases` has an item for each physical partition of a monitored container and each function
//! ([`cosmos_model::change_feed`]), with the position up to which the function has acknowledged the changes. An
//! instance that has a lease renews it every 17 s, or as [`LeaseIntervals`](crate::domain::LeaseIntervals) say.
//! After a split the leases of the children replace that of their parent; after a merge the narrower leases stay.

use std::{sync::Arc, time::Duration};

pub(crate) use cosmos_model::change_feed::EpkRange;
use cosmos_model::change_feed::{LeaseItem, lease_prefix, lsn_of_continuation};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    cosmos::{
        Container, Cosmos, FeedIdentity, JsonText, Query, Reason, RowResult, Scope, StoreError,
        Stored,
    },
    values::Timestamp,
};

pub(crate) const LEASE_CONTAINER: &str = "leases";

/// The most leases that are read at a time: 20 projections with 500 physical partitions each, of 25 TB.
const MAX_LEASES: usize = 10_000;

const PAGE_SIZE: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub id: String,
    /// The id of the physical partition, such as `0`; after a merge the bounds of a part of one.
    pub token: String,
    /// The range of effective partition keys; none in a lease of an old version of the trigger.
    pub range: Option<EpkRange>,
    /// The position behind the last acknowledged batch; none before the first.
    pub continuation: Option<String>,
    pub owner: Option<String>,
    /// The last write, in whole seconds of the store's clock: a checkpoint or a renewal.
    pub written_at: Timestamp,
}

impl Lease {
    pub(crate) fn lsn(&self) -> Option<u64> {
        self.continuation.as_deref().and_then(lsn_of_continuation)
    }

    pub(crate) fn is_owned(&self, expiration: Duration, now: Timestamp) -> bool {
        self.owner.is_some() && self.written_at >= now.before(expiration)
    }
}

/// An instance that has crashed holds its leases for a minute.
pub(crate) const STOPPED_AFTER: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseTerms {
    pub expiration: Duration,
    pub stopped_after: Duration,
}

#[derive(Deserialize)]
struct StoredLease {
    #[serde(flatten)]
    item: LeaseItem,
    #[serde(rename = "_ts", default)]
    written_at: i64,
}

impl From<StoredLease> for Lease {
    fn from(StoredLease { item, written_at }: StoredLease) -> Self {
        let LeaseItem { id, token, feed_range, continuation, owner, .. } = item;
        Self {
            id,
            token,
            range: feed_range.map(|field| field.range),
            continuation: continuation.filter(|continuation| !continuation.is_empty()),
            owner: owner.filter(|owner| !owner.trim().is_empty()),
            written_at: Timestamp::from_unix_seconds(written_at).unwrap_or(Timestamp::EPOCH),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReleaseOutcome {
    /// The lease has no owner now. The former one, if it had one.
    Released(Option<String>),
    Owned,
    Gone,
}

#[derive(Clone)]
pub(crate) struct ProjectionLeases(Container);

impl ProjectionLeases {
    pub(crate) fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self(cosmos.container(LEASE_CONTAINER))
    }

    /// In the order of their tokens. An item of another form is there as its text. Costs 3 request units for each
    /// physical partition of the leases.
    pub(crate) async fn of(
        &self,
        function: &str,
        monitored: &Container,
    ) -> Result<Vec<RowResult<Lease>>, StoreError> {
        let prefix = prefix_of(function, monitored).await?;
        let query = Query::from("SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)")
            .with_parameter("@prefix", prefix)?;
        self.query(query).await
    }

    /// By one query of all leases.
    pub(crate) async fn of_each(
        &self,
        functions: &[(&str, Container)],
    ) -> Result<Vec<Vec<RowResult<Lease>>>, StoreError> {
        let mut prefixes = Vec::new();
        for (function, monitored) in functions {
            prefixes.push(prefix_of(function, monitored).await?);
        }
        let mut of_each: Vec<Vec<RowResult<Lease>>> = prefixes.iter().map(|_| Vec::new()).collect();
        // The items `<prefix>.info` and `<prefix>.lock` beside the leases are none.
        let leases = Query::from("SELECT * FROM c WHERE CONTAINS(c.id, '..')");
        for row in self.query(leases).await? {
            let id = row.as_ref().map_or_else(JsonText::id, |lease| Some(lease.id.clone()));
            let is_own = |prefix: &String| id.as_ref().is_some_and(|id| id.starts_with(prefix));
            let own = prefixes.iter().position(is_own).and_then(|index| of_each.get_mut(index));
            if let Some(own) = own {
                own.push(row);
            }
        }
        Ok(of_each)
    }

    /// Two requests, some 12 request units. An owner that lives after all is refused its next write, which is under
    /// an older ETag; a duplicate delivery changes nothing.
    pub(crate) async fn release(
        &self,
        id: &str,
        may_release: impl Fn(&Lease) -> bool,
    ) -> Result<ReleaseOutcome, StoreError> {
        let stored = self.0.latest_committed().read::<Map<String, Value>>(id, id).await?;
        let Some(Stored { item: mut fields, etag }) = stored else {
            return Ok(ReleaseOutcome::Gone);
        };
        let lease: Result<StoredLease, _> = serde_json::from_value(fields.clone().into());
        let lease = Lease::from(lease.map_err(|_| StoreError::unreadable())?);
        let Some(owner) = &lease.owner else { return Ok(ReleaseOutcome::Released(None)) };
        if !may_release(&lease) {
            return Ok(ReleaseOutcome::Owned);
        }
        // The store writes its own fields. All others stay, also those that this version does not know.
        fields.retain(|name, _| !name.starts_with('_'));
        fields.insert("Owner".to_owned(), Value::Null);
        self.0.replace(id, id, &fields, &etag).await?;
        Ok(ReleaseOutcome::Released(Some(owner.clone())))
    }

    /// A point read. `None` before the trigger has run, and after a split or merge of the partition.
    pub(crate) async fn of_partition(
        &self,
        function: &str,
        monitored: &Container,
        partition: &str,
    ) -> Result<Option<Lease>, StoreError> {
        let id = format!("{}{partition}", prefix_of(function, monitored).await?);
        match self.0.read::<StoredLease>(&id, &id).await {
            Err(StoreError { reason: Reason::NoContainer(_), .. }) => Ok(None),
            stored => Ok(stored?.map(|stored| stored.item.into())),
        }
    }

    async fn query(&self, query: Query) -> Result<Vec<RowResult<Lease>>, StoreError> {
        let go_on = |rows: &[RowResult<StoredLease>]| rows.len() < MAX_LEASES;
        let rows = match self.0.query_rows_while(query, Scope::Container, PAGE_SIZE, go_on).await {
            // The host has not created the leases yet.
            Err(StoreError { reason: Reason::NoContainer(_), .. }) => Vec::new(),
            rows => rows?.0,
        };
        let mut leases: Vec<_> = rows.into_iter().map(|row| row.map(Lease::from)).collect();
        leases.sort_by(|lease, other| order(lease).cmp(&order(other)));
        Ok(leases)
    }
}

fn order(lease: &RowResult<Lease>) -> (bool, Option<u64>, &str) {
    match lease {
        Ok(lease) => (false, lease.token.parse().ok(), &lease.token),
        Err(_) => (true, None, ""),
    }
}

async fn prefix_of(function: &str, monitored: &Container) -> Result<String, StoreError> {
    let FeedIdentity { host, rid } = monitored.feed_identity().await?;
    let prefix = lease_prefix(&lease_container_prefix(function), host, rid);
    Ok(format!("{}..", prefix.ok_or_else(StoreError::unexpected)?))
}

/// Returns the `leaseContainerPrefix` of a function: that of `CopiesInUsers` is `copies-in-users-`.
pub(crate) fn lease_container_prefix(function: &str) -> String {
    let mut prefix = String::new();
    for letter in function.chars() {
        if letter.is_uppercase() && !prefix.is_empty() {
            prefix.push('-');
        }
        prefix.extend(letter.to_lowercase());
    }
    prefix.push('-');
    prefix
}
