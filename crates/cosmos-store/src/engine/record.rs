//! An item as it is stored, and the system properties that are made of it.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

use super::{Item, Lsn};
use crate::{Result, json::Json};

/// The properties that the service writes.
pub(super) const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The length of an item's number at the end of its key.
pub(super) const RID_BYTES: usize = 8;

const HEADER_BYTES: usize = 24;

/// What follows the ETag in a body, before the digits of `_ts`.
const BEHIND_ETAG: &str = r#"\"","_attachments":"attachments/","_ts":"#;

const ETAG_CHARACTERS: usize = 36;

pub(super) type Key = Arc<[u8]>;

/// A stored item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The LSN of its last write.
    pub lsn: Lsn,
    /// The second of its last write.
    pub ts: i64,
    /// The physical partition whose log has that write.
    pub partition: u32,
    /// Its own time to live in seconds; 0 is that of the container.
    pub ttl: i32,
    /// The item as JSON, with the system properties at its end.
    pub body: Bytes,
}

impl Record {
    /// Reads an item from the disk.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
        let long = |at: usize| Some(u64::from_be_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            lsn: long(0)?,
            ts: long(8)?.cast_signed(),
            partition: short(16)?,
            ttl: short(20)?.cast_signed(),
            body: Bytes::copy_from_slice(body),
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.body.len());
        bytes.extend(self.lsn.to_be_bytes());
        bytes.extend(self.ts.to_be_bytes());
        bytes.extend(self.partition.to_be_bytes());
        bytes.extend(self.ttl.to_be_bytes());
        bytes.extend(&self.body);
        bytes
    }

    /// Returns the second in which the item's time to live ends.
    pub(super) fn expires(&self, default_ttl: Option<i64>) -> Option<i64> {
        let default = default_ttl?;
        let ttl = if self.ttl == 0 { default } else { self.ttl.into() };
        (ttl > 0).then(|| self.ts.saturating_add(ttl))
    }

    /// Returns true if the item's time to live has not ended at a second.
    pub(super) fn lives(&self, default_ttl: Option<i64>, now: i64) -> bool {
        self.expires(default_ttl).is_none_or(|end| end > now)
    }

    pub(super) fn etag(&self) -> String {
        let digits = self.ts.checked_ilog10().map_or(1, |digits| digits as usize + 1);
        let end = self.body.len().saturating_sub(BEHIND_ETAG.len() + digits + 1);
        let etag = self.body.get(end.saturating_sub(ETAG_CHARACTERS)..end).unwrap_or_default();
        ["\"", str::from_utf8(etag).unwrap_or_default(), "\""].concat()
    }

    pub(super) fn item(&self, place: &[u8]) -> Item {
        Item { body: self.body.clone(), etag: self.etag(), lsn: self.lsn, place: place.to_vec() }
    }

    /// Reads these properties of the item's body.
    pub(super) fn properties(&self, names: &[&str]) -> Result<Json> {
        Json::parse_only(&self.body, names)
    }
}

pub(crate) fn rid_of(item_key: &[u8]) -> u64 {
    item_key.last_chunk().map_or(0, |rid| u64::from_be_bytes(*rid))
}

pub(super) fn epk_of(item_key: &[u8]) -> &[u8] {
    item_key.split_at(item_key.len().saturating_sub(RID_BYTES)).0
}

/// What the names and links of a container's items are made of.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The `_rid` of the database.
    pub database: String,
    /// The `_rid` of the container.
    pub container: String,
    /// The numbers of both, as in `_rid`s.
    bytes: [u8; 8],
    /// A random number of the store, so that no other store has its ETags.
    store: u32,
}

impl Names {
    pub(super) fn new(database: u32, container: u32, store: u32) -> Self {
        let mut bytes = [0; 8];
        let (first, second) = bytes.split_at_mut(4);
        first.copy_from_slice(&database.to_be_bytes());
        second.copy_from_slice(&(container | 1 << 31).to_be_bytes());
        Self { database: encode(&database.to_be_bytes()), container: encode(&bytes), bytes, store }
    }

    /// Returns the `_rid` of an item. The SDKs read the number's bytes from the lowest one.
    fn item_rid(&self, number: u64) -> String {
        let mut bytes = self.bytes.to_vec();
        bytes.extend(number.to_le_bytes());
        encode(&bytes)
    }

    /// Returns the body of a new version: what is written, without its last brace, and the system properties.
    pub(super) fn body(&self, written: &[u8], rid: u64, write: u64, ts: i64) -> Bytes {
        let Self { database, container, store, .. } = self;
        let rid = self.item_rid(rid);
        let etag = etag(*store, write);
        let etag = etag.trim_matches('"');
        let system = format!(
            r#","_rid":"{rid}","_self":"dbs/{database}/colls/{container}/docs/{rid}/","_etag":"\"{etag}{BEHIND_ETAG}{ts}}}"#
        );
        [written, system.as_bytes()].concat().into()
    }
}

pub(super) fn etag(store: u32, number: u64) -> String {
    let (high, low) = (number >> 48, number & 0xffff_ffff_ffff);
    format!("\"{store:08x}-0000-0100-{high:04x}-{low:012x}\"")
}

/// Returns a `_rid` of these bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes).replace('/', "-")
}
