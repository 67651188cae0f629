//! Failures of an invocation.

/// The reason why an invocation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvocationFailure {
    /// There was no answer.
    #[error("the handler did not answer: {0}")]
    Unreachable(String),
    /// The answer was not a 2xx; the host drops its logs.
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
    /// A 2xx whose body is not that of an invocation.
    #[error("the handler answered {0} with a body that is not an invocation's answer: {1}")]
    Body(u16, String),
    /// `functionTimeout` passed, so the host killed the handler.
    #[error("the invocation took longer than functionTimeout, so the handler was killed")]
    TimedOut,
}
