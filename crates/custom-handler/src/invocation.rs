//! An invocation as the host sends it, and the arguments that a handler takes from it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::trace::TraceContext;

/// One invocation of a function by its trigger, as the host sent it.
#[derive(Clone)]
pub struct Invocation<'a> {
    id: Option<&'a str>,
    trace: Option<&'a TraceContext>,
    data: BTreeMap<String, &'a RawValue>,
}

/// An argument of a trigger's handler: implement it to read other triggers' data, by [`Invocation::only_data`] and
/// [`Invocation::decode`].
pub trait FromInvocation: Sized {
    /// Takes the argument from the invocation. An error fails the invocation with status 400.
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError>;
}

impl FromInvocation for Option<TraceContext> {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        Ok(invocation.trace().cloned())
    }
}

/// The error of an invocation that the handler does not expect. The text names the part and never its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvocationError(String);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InvocationEnvelope<'a> {
    #[serde(borrow)]
    data: Option<BTreeMap<String, &'a RawValue>>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn parse(
        id: Option<&'a str>,
        trace: Option<&'a TraceContext>,
        body: &'a [u8],
    ) -> Result<Self, InvocationError> {
        // serde reads a struct from an array, too, so arrays are excluded first.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(InvocationError::new("the body is not a JSON object"));
        }
        let envelope: InvocationEnvelope<'a> = serde_json::from_slice(body)
            .map_err(|error| InvocationError::json("the body", &error))?;
        Ok(Self { id, trace, data: envelope.data.unwrap_or_default() })
    }

    /// Returns the id of the invocation, from the host. A retry has the same id.
    pub fn id(&self) -> Option<&str> {
        self.id
    }

    /// Returns the host's trace, when the host sent one.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace
    }

    /// Returns the data of the binding with this name in `function.json`, as the host encoded it.
    pub fn data(&self, binding: &str) -> Option<&RawValue> {
        self.data.get(binding).copied()
    }

    /// Returns the data of the only binding. Its name does not matter.
    pub fn only_data(&self) -> Result<&RawValue, InvocationError> {
        let mut values = self.data.values();
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            _ => Err(InvocationError::new(format!(
                "`Data` has {} bindings, and this function takes one",
                self.data.len()
            ))),
        }
    }

    /// Parses a part of the invocation, which the host has encoded twice (JSON in a JSON string in a JSON string),
    /// once or not at all. Messages call it `what`.
    pub fn decode<T: DeserializeOwned>(what: &str, value: &RawValue) -> Result<T, InvocationError> {
        let mut text = Cow::Borrowed(value.get());
        for _ in 0..MAX_ENCODINGS {
            if !text.trim_ascii_start().starts_with('"') {
                break;
            }
            let inner: String =
                serde_json::from_str(&text).map_err(|error| InvocationError::json(what, &error))?;
            text = Cow::Owned(inner);
        }
        serde_json::from_str(&text).map_err(|error| InvocationError::json(what, &error))
    }
}

/// The Cosmos DB trigger passes its batch as text, and the host encodes it twice as JSON.
const MAX_ENCODINGS: usize = 2;

impl InvocationError {
    /// Creates an error with a message of one sentence, for the log: without content of the invocation.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Names the kind and the position of a JSON error: the text of `serde_json` quotes the value.
    fn json(what: &str, error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Data => "does not have the expected form",
            Category::Eof => "ends too early",
            Category::Syntax | Category::Io => "is not valid JSON",
        };
        Self(format!("{what} {problem} (line {}, column {})", error.line(), error.column()))
    }
}

pub(crate) fn id_header(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-azure-functions-invocationid")?.to_str().ok()
}
