//! The part of a container that a request is for, and its session token.

use super::{
    address::Container,
    call::{Call, name},
};
use crate::{
    Refusal, Result,
    engine::{EpkRange, Lsn, Partition, View, unhex},
    json::Json,
};

/// A part of the hash space, and the physical partitions in which it lies.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) range: EpkRange,
    pub(super) partitions: Vec<Partition>,
    /// The partition key, or the prefix, that the request names.
    pub(super) key: Option<Json>,
}

impl Scope {
    /// Returns the part that the headers name: a partition key or a prefix, a physical partition, a range, or all.
    pub(super) fn new(call: &Call, container: &Container) -> Result<Self> {
        let mut partitions = call.view.partitions(container.id);
        let mut range = EpkRange::all();
        // Some SDKs write the `_rid` of the container before the number.
        if let Some(id) = call.header(name::RANGE).and_then(|id| id.rsplit(',').next()) {
            partitions.retain(|partition| partition.id.to_string() == id);
            let Some(partition) = partitions.first() else { return Err(gone()) };
            range = partition.range.clone();
        }
        let key = call.key()?;
        if let Some(key) = &key {
            range = range.intersection(&call.view.range_of(container.id, key)?);
        }
        let bound = |name: &str| call.header(name).map(epk).transpose();
        let from = bound("x-ms-start-epk")?.unwrap_or_default();
        let until = bound("x-ms-end-epk")?.unwrap_or_else(|| EpkRange::all().until);
        let mut scope = Self { range, partitions, key };
        scope.narrow(&EpkRange { from, until });
        Ok(scope)
    }

    /// Returns the physical partition of a partition key.
    pub(super) fn of_key(view: &View, container: &Container, key: Json) -> Result<Self> {
        let range = view.range_of(container.id, &key)?;
        let partitions = view.partitions(container.id);
        let mut scope = Self { range: EpkRange::all(), partitions, key: Some(key) };
        scope.narrow(&range);
        Ok(scope)
    }

    /// Leaves the part within a range.
    pub(super) fn narrow(&mut self, range: &EpkRange) {
        self.range = self.range.intersection(range);
        self.partitions.retain(|partition| overlap(&partition.range, &self.range));
    }

    pub(super) fn parts(&self) -> Vec<EpkRange> {
        self.partitions.iter().map(|one| one.range.intersection(&self.range)).collect()
    }

    /// Checks that the state is not older than the session token of the request. A token of a physical partition that
    /// is gone says nothing about the others.
    pub(super) fn check_session(&self, call: &Call) -> Result<()> {
        let eventual = ["Eventual", "ConsistentPrefix"];
        let level = call.header("x-ms-consistency-level").unwrap_or_default();
        let Some(tokens) = call.header(name::SESSION) else { return Ok(()) };
        for token in tokens.split(',').filter(|token| !token.is_empty()) {
            let Some((id, lsn)) = parse_token(token) else {
                let message = format!("The session token '{token}' is malformed.");
                return Err(Refusal::new(400, message));
            };
            let is_newer = |one: &Partition| one.id == id && one.lsn < lsn;
            if self.partitions.iter().any(is_newer) && !eventual.contains(&level) {
                let text = "The read/write session is not available for the input session token.";
                return Err(Refusal::new(404, text).with_sub_status(1002));
            }
        }
        Ok(())
    }
}

/// Reads the token of a physical partition: `0:5`, `0:-1#5` or `0:1#5#3=4`.
fn parse_token(token: &str) -> Option<(u32, Lsn)> {
    let (id, vector) = token.trim().split_once(':')?;
    let mut parts = vector.split('#');
    let first = parts.next()?;
    let lsn = parts.next().unwrap_or(first);
    // -1 is what a container without a write has.
    Some((id.parse().ok()?, lsn.parse::<i64>().ok()?.try_into().unwrap_or(0)))
}

/// Returns the refusal of a physical partition that was split or merged: SDKs read the partitions again.
pub(super) fn gone() -> Refusal {
    let text = "The requested partition key range is gone: it was split or merged. Read the partition key ranges again.";
    Refusal::new(410, text).with_sub_status(1002)
}

pub(super) fn overlap(one: &EpkRange, other: &EpkRange) -> bool {
    one.from < other.until && other.from < one.until
}

/// Reads an effective partition key in hexadecimal digits.
pub(super) fn epk(text: &str) -> Result<Vec<u8>> {
    let bad = || Refusal::new(400, format!("The effective partition key '{text}' is malformed."));
    unhex(text).ok_or_else(bad)
}
