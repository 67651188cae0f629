//! The arguments of handlers: a batch of documents, the status of a timer, the id of an invocation.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::invocation::{FromInvocation, Invocation, InvocationError};

/// The documents of a Cosmos DB trigger, in the order of the change feed. Only a batch that is not an array fails as
/// a whole: the handler parses each document.
#[derive(Debug, Clone)]
pub struct Documents(pub Vec<Document>);

/// One changed document as JSON text. The host has rewritten some timestamps and numbers in it (`.120Z` to `.12Z`,
/// `1e20` to `1E+20`): never compare or hash it. `Debug` writes the length alone, so that no content gets into a log.
#[derive(Clone)]
pub struct Document(Box<RawValue>);

impl Document {
    /// Creates a document from its JSON text, for tests.
    pub fn from_json(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// Returns the JSON text, which is valid JSON but not always an object.
    pub fn raw(&self) -> &str {
        self.0.get()
    }

    /// Parses the document as a `T`. The error's text can quote a value of the document.
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
}

impl FromInvocation for TimerInfo {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        Invocation::decode("the timer's status", invocation.only_data()?)
    }
}

/// The id of the invocation, from the host. A retry has the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvocationId(pub String);

impl FromInvocation for InvocationId {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let id = invocation.id().map(|id| Self(id.to_owned()));
        let missing = "the header X-Azure-Functions-InvocationId is missing";
        id.ok_or_else(|| InvocationError::new(missing))
    }
}
