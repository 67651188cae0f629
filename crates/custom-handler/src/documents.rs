//! The Cosmos DB trigger's batch.

use std::fmt;

use serde::de::DeserializeOwned;
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
