//! The detection of a host that parses strings as dates, by the app's own timestamps.
//!
//! Newtonsoft writes `.120Z` as `.12Z` and `.000Z` as `Z`, so one timestamp in ten shows such a host. It also
//! reads a page of the change feed again and again if the page has a text like `/Date(500000000000000)/`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::values::{Timestamp, may_be_rewritten_by_host};

/// The two timestamps that every projection reads of a document, and its position.
#[derive(Deserialize)]
pub(super) struct DocumentStamps {
    /// The time of the store's write, in seconds.
    #[serde(rename = "_ts")]
    pub written: i64,
    /// The position of the write in the change feed, if the host delivers it.
    #[serde(rename = "_lsn")]
    pub lsn: Option<u64>,
    #[serde(rename = "creationDate")]
    created: Option<Box<RawValue>>,
}

impl DocumentStamps {
    /// Returns true if the creation date has another form than the one that the app writes.
    fn are_rewritten(&self) -> bool {
        let text = self.created.as_deref().and_then(|raw| serde_json::from_str(raw.get()).ok());
        text.is_some_and(|text: &str| {
            may_be_rewritten_by_host(text) && text.len() != Timestamp::LENGTH
        })
    }
}

/// Logs an error, once in the life of the process, if one of the documents was rewritten.
pub(super) fn report(stamps: &[DocumentStamps]) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.load(Relaxed)
        && stamps.iter().any(DocumentStamps::are_rewritten)
        && !REPORTED.swap(true, Relaxed)
    {
        tracing::error!(
            "The Functions host rewrites dates, so a text of a user can stop the change feed. Set \
             extensions.cosmosDB.serializerSettings.dateParseHandling to \"None\" in host.json, and \
             extensionBundle.version to \"[4.29.0, 5.0.0)\": older bundles ignore the setting"
        );
    }
}
