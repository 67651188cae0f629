//! Failures of an invocation.

/// Why an invocation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No answer came.
    #[error("the handler did not answer: {0}")]
    Unreachable(String),
    /// The answer was not a 2xx; the host throws its logs away.
    #[error("the handler answered {0}")]
    Status(u16),
    /// A 2xx with another content type.
    #[error("the handler answered {0} with the content type {1:?}; it must be application/json")]
    ContentType(u16, String),
    /// A 2xx with an empty body or `null`.
    #[error(
        "the handler answered {0} with an empty body or null: the real host would wait until \
         functionTimeout and then kill the handler; answer {{\"Outputs\":{{}},\"Logs\":[]}}"
    )]
    Hang(u16),
    /// A 2xx whose body is not the answer of an invocation.
    #[error("the handler answered {0} with a body that is not an invocation's answer: {1}")]
    Body(u16, String),
    /// `functionTimeout` was over, so the host killed the handler.
    #[error("the invocation took longer than functionTimeout, so the handler was killed")]
    TimedOut,
}
