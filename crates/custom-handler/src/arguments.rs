//! The arguments of handlers: a batch of documents, the status of a timer, the metadata of an invocation.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::invocation::{FromInvocation, Invocation, InvocationError};

/// The documents of a Cosmos DB trigger, in the order of the change feed.
///
/// Only a batch that is not an array fails as a whole. The handler parses each document, and can set an
/// invalid one aside.
#[derive(Debug, Clone)]
pub struct Documents(pub Vec<Document>);

/// One changed document as JSON text.
///
/// The text has passed through the host, which rewrites some timestamps and numbers (`.120Z` to
/// `.12Z`, `1e20` to `1E+20`): never compare or hash it. The document carries its system
/// properties (`_etag`, `_lsn`, `_ts`, ...).
///
/// `Debug` writes the length alone, so that no content gets into a log by accident.
#[derive(Clone)]
pub struct Document(Box<RawValue>);

impl Document {
    /// Creates a document from its JSON text, for tests.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn from_json(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// Returns the JSON text, which is valid JSON but not always an object.
    pub fn raw(&self) -> &str {
        self.0.get()
    }

    /// Parses the document as a `T`.
    ///
    /// # Errors
    /// When it is not that of a `T`. The error's text can quote a value of the document.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.raw())
    }
}

impl FromInvocation for Documents {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let documents: Vec<Box<RawValue>> =
            Invocation::decode("the batch of documents", invocation.only_data()?)?;
        Ok(Self(documents.into_iter().map(Document).collect()))
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("n_bytes", &self.raw().len()).finish()
    }
}

/// The status of the timer that started the function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TimerInfo {
    /// True when the timer should have started the function earlier.
    pub is_past_due: bool,
    /// The last and the next run; `None` when the timer's `useMonitor` is off.
    pub schedule_status: Option<ScheduleStatus>,
    /// True when the schedule follows daylight saving time.
    #[serde(rename = "Schedule", default, deserialize_with = "adjust_for_dst")]
    pub adjust_for_dst: bool,
}

/// The times of a timer's runs, as the host writes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// The run before this one.
    pub last: String,
    /// The run after this one.
    pub next: String,
    /// The time of the host's last update of this status.
    pub last_updated: String,
}

impl FromInvocation for TimerInfo {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        Invocation::decode("the timer's status", invocation.only_data()?)
    }
}

fn adjust_for_dst<'de, D: Deserializer<'de>>(schedule: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    struct Schedule {
        #[serde(rename = "AdjustForDST", default)]
        adjust_for_dst: bool,
    }

    let schedule = Option::<Schedule>::deserialize(schedule)?;
    Ok(schedule.is_some_and(|schedule| schedule.adjust_for_dst))
}

/// The id of the invocation, from the host. A retry has the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvocationId(pub String);

/// The count of retries under the `retry` policy of `function.json`: an `Option<RetryContext>` is none
/// without such a policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RetryContext {
    /// The number of the retry: 0 for the first attempt.
    pub retry_count: i64,
    /// The largest number of retries: -1 for no end.
    pub max_retry_count: i64,
    /// The error of the attempt before, when the host sends it.
    #[serde(default, deserialize_with = "exception_text")]
    pub exception: Option<String>,
}

impl FromInvocation for InvocationId {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let id = invocation.id().map(|id| Self(id.to_owned()));
        let missing = "the header X-Azure-Functions-InvocationId is missing";
        id.ok_or_else(|| InvocationError::new(missing))
    }
}

impl FromInvocation for Option<RetryContext> {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let Some(context) = invocation.metadata("RetryContext") else {
            return Ok(None);
        };
        Invocation::decode("`Metadata.RetryContext`", context)
    }
}

/// Returns the text of a .NET exception, which comes as text or as an object with a `Message`.
fn exception_text<'de, D: Deserializer<'de>>(exception: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(exception)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(match other.get("Message") {
            Some(Value::String(message)) => message.clone(),
            _ => other.to_string(),
        }),
    })
}
