//! What the host sends with an invocation, and how a handler's arguments are taken from it.

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
    function: &'a str,
    id: Option<&'a str>,
    trace: Option<&'a TraceContext>,
    data: BTreeMap<String, &'a RawValue>,
    metadata: BTreeMap<String, &'a RawValue>,
}

/// An argument of a trigger's handler.
///
/// Implement it to read other triggers' data: see [`Invocation::only_data`] and [`decode`].
///
/// [`decode`]: Invocation::decode
pub trait FromInvocation: Sized {
    /// Takes the argument from the invocation. An error fails the invocation with status 400.
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError>;
}

impl FromInvocation for Option<TraceContext> {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        Ok(invocation.trace().cloned())
    }
}

/// The invocation is not what the handler expects. The text names the part and never its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvocationError(String);

/// The body of an invocation. A missing part is an empty one.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(borrow)]
    metadata: Option<BTreeMap<String, &'a RawValue>>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn parse(
        function: &'a str,
        id: Option<&'a str>,
        trace: Option<&'a TraceContext>,
        body: &'a [u8],
    ) -> Result<Self, InvocationError> {
        // A struct is also read from an array, so that is excluded first.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(InvocationError::new("the body is not a JSON object"));
        }
        let envelope: Envelope<'a> = serde_json::from_slice(body)
            .map_err(|error| InvocationError::json("the body", &error))?;
        let data = envelope.data.unwrap_or_default();
        let metadata = envelope.metadata.unwrap_or_default();
        Ok(Self { function, id, trace, data, metadata })
    }

    /// The name of the function.
    pub fn function(&self) -> &str {
        self.function
    }

    /// The id that the host gave to the invocation; a retry has the same one.
    pub fn id(&self) -> Option<&str> {
        self.id
    }

    /// The host's trace, when the host sent one.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace
    }

    /// The data of the binding with this name in `function.json`, as the host encoded it.
    pub fn data(&self, binding: &str) -> Option<&RawValue> {
        self.data.get(binding).copied()
    }

    /// The data of the only binding. Its name does not matter.
    ///
    /// # Errors
    /// When the invocation has none, or several.
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

    /// A part of `Metadata`, such as `sys`, as the host encoded it.
    pub fn metadata(&self, name: &str) -> Option<&RawValue> {
        self.metadata.get(name).copied()
    }

    /// Reads a part of the invocation, `what` in messages, whether the host encoded it twice (JSON
    /// in a JSON string in a JSON string), once or not at all.
    ///
    /// # Errors
    /// When it is not JSON, or not that of a `T`.
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

/// The Cosmos DB trigger hands its batch over as text, and the host makes JSON of it twice.
const MAX_ENCODINGS: usize = 2;

impl InvocationError {
    /// An error with a message of one sentence, without content of the invocation: it is logged.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// serde_json quotes the value that it did not expect, so only kind and place are passed on.
    fn json(what: &str, error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Data => "does not have the expected form",
            Category::Eof => "ends too early",
            Category::Syntax | Category::Io => "is not valid JSON",
        };
        Self(format!("{what} {problem} (line {}, column {})", error.line(), error.column()))
    }
}

/// The id in the header that the host adds to every request.
pub(crate) fn id_header(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-azure-functions-invocationid")?.to_str().ok()
}
