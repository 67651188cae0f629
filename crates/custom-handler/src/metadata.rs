//! The metadata of every trigger's invocation.

use serde::Deserialize;
use serde_json::Value;

use crate::invocation::{FromInvocation, Invocation, InvocationError};

/// The id of the invocation, from the host. A retry has the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvocationId(pub String);

/// The count of retries under the `retry` policy of `function.json`.
///
/// Take `Option<RetryContext>` unless the function has such a policy for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryContext {
    /// The number of the retry: 0 for the first attempt.
    pub retry_count: i64,
    /// The largest number of retries: -1 for no end.
    pub max_retry_count: i64,
    /// The error of the attempt before, when the host sends it.
    pub exception: Option<String>,
}

/// The host's `sys` metadata.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct SystemMetadata {
    /// The name of the function.
    pub method_name: String,
    /// The host's time, as the host writes it.
    pub utc_now: String,
    /// A random id made for this invocation.
    pub rand_guid: String,
}

impl FromInvocation for InvocationId {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        match invocation.id() {
            Some(id) => Ok(Self(id.to_owned())),
            None => {
                Err(InvocationError::new("the header X-Azure-Functions-InvocationId is missing"))
            }
        }
    }
}

impl FromInvocation for SystemMetadata {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let sys = invocation
            .metadata("sys")
            .ok_or_else(|| InvocationError::new("`Metadata.sys` is missing"))?;
        Invocation::decode("`Metadata.sys`", sys)
    }
}

impl FromInvocation for Option<RetryContext> {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let Some(context) = invocation.metadata("RetryContext") else {
            return Ok(None);
        };
        let wire: Option<RetryContextWire> =
            Invocation::decode("`Metadata.RetryContext`", context)?;
        Ok(wire.map(|wire| RetryContext {
            retry_count: wire.retry_count,
            max_retry_count: wire.max_retry_count,
            exception: wire.exception.and_then(exception_text),
        }))
    }
}

impl FromInvocation for RetryContext {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        Option::<Self>::from_invocation(invocation)?.ok_or_else(|| {
            InvocationError::new(
                "`Metadata.RetryContext` is missing: give the function a `retry` policy in its \
                 function.json",
            )
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RetryContextWire {
    retry_count: i64,
    max_retry_count: i64,
    exception: Option<Value>,
}

/// Returns the text of a .NET exception, which comes as text or as an object with a `Message`.
fn exception_text(exception: Value) -> Option<String> {
    match exception {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Object(mut fields) if fields.get("Message").is_some_and(Value::is_string) => {
            fields.remove("Message").and_then(|message| message.as_str().map(str::to_owned))
        }
        other => Some(other.to_string()),
    }
}
