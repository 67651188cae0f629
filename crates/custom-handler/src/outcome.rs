//! The outcome of a handler, and the host's answer for it.

use std::fmt::Display;

use serde_json::{Map, Value};

/// The outcome of an invocation: the values for the output bindings.
///
/// **Beware of base64:** the host decodes an output string silently when it happens to be valid
/// base64, so `"abcd"` arrives as three bytes. Put such a string into an object, or encode it as
/// base64 yourself: the host undoes exactly that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InvocationOutcome {
    /// The values of the output bindings, by their names in `function.json`.
    pub outputs: Map<String, Value>,
    /// A few words of ASCII for the console of a host on a developer's machine; the Functions host does not read it.
    pub done: Option<String>,
    /// The request units that the function has cost in a store, for the console as well.
    pub request_units: Option<f64>,
    /// The reason for which the function refuses the invocation; `None` when it took it.
    pub refused: Option<String>,
}

/// A result of a handler: `()`, an [`InvocationOutcome`], or a `Result` of either. An error fails the invocation with
/// status 500; its text, in the alternate form (`{:#}`, with causes), goes to the log.
pub trait IntoOutcome {
    /// Converts into the outcome, or into the text of the error.
    fn into_outcome(self) -> Result<InvocationOutcome, String>;
}

impl InvocationOutcome {
    /// Creates an outcome without outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the outcome of an invocation that the function refuses for now, such as a batch while it is paused: a
    /// 503 without an error line, and a host with a retry policy invokes it again.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { refused: Some(reason.into()), ..Self::default() }
    }

    /// Sets the value of an output binding.
    #[must_use]
    pub fn output(mut self, binding: impl Into<String>, value: impl Into<Value>) -> Self {
        self.outputs.insert(binding.into(), value.into());
        self
    }
}

impl From<()> for InvocationOutcome {
    fn from((): ()) -> Self {
        Self::new()
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Result<InvocationOutcome, String> {
        Ok(InvocationOutcome::new())
    }
}

impl IntoOutcome for InvocationOutcome {
    fn into_outcome(self) -> Result<InvocationOutcome, String> {
        Ok(self)
    }
}

impl<T: Into<InvocationOutcome>, E: Display> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Result<InvocationOutcome, String> {
        self.map(Into::into).map_err(|error| format!("{error:#}"))
    }
}
