//! The errors of the store, by what a caller can do about them.

use std::{error::Error, sync::Arc};

use azure_data_cosmos::{CosmosError, SubStatusCode, diagnostics::DiagnosticsContext};

/// 403 with this sub-status: the logical partition has reached 20 GB (service limit).
const PARTITION_FULL: u32 = 1014;

/// The SDK's code for an item that is not of the type that was asked for.
const UNREADABLE_ITEM: SubStatusCode = SubStatusCode::new(20020);

/// An operation that the store did not carry out, or whose answer was lost.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store refused the operation: {reason}")]
pub struct StoreError {
    /// The reason, by what a caller can do about it.
    pub reason: Reason,
    /// True if the write may have been carried out although it failed: an answer was lost. Always false for a read.
    pub answer_lost: bool,
    /// The error of the SDK, which may name containers and endpoints, or a [`ParseError`]: for the log only.
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The reason for which the store did not carry out an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// 404: there is no such item.
    #[error("there is no such item")]
    NotFound,
    /// 409: there is an item with this id already.
    #[error("there is an item with this id already")]
    Conflict,
    /// 412: the item has changed since it was read.
    #[error("the item has changed since it was read")]
    PreconditionFailed,
    /// 413: the item is larger than the store takes (2 MB).
    #[error("the item is larger than 2 MB")]
    TooLarge,
    /// 403 with sub-status 1014: the logical partition is full (20 GB). Only deletes help.
    #[error("the logical partition is full (20 GB)")]
    PartitionFull,
    /// 429: out of request units, after the SDK's own retries.
    #[error("throttled: out of request units")]
    Throttled,
    /// 449: a concurrent write to the same item; the operation was not carried out.
    #[error("a concurrent write of the same item")]
    RetryWith,
    /// 408, 410, 503 or no answer: a write may have been carried out. Also 404 with a sub-status (1003, 1002).
    #[error("unavailable: no answer, or no permission")]
    Unavailable,
    /// The account or its database has no such container.
    #[error(
        "there is no container `{0}` in the database: create it as infra/containers.json defines it"
    )]
    NoContainer(&'static str),
    /// The request was not sent: the work that it belongs to has reached its limits.
    #[error("not sent: the budget of the request is spent")]
    BudgetSpent,
    /// The item has another form than the expected one: another program, or a bug, wrote it.
    #[error("the item is stored in another form")]
    Unreadable,
    /// Anything else: a bug or a wrong configuration.
    #[error("an unexpected answer of the store")]
    Unexpected,
}

/// The parser's own message may quote values, which belong into no log.
#[derive(Debug, thiserror::Error)]
#[error("the parser stopped at column {column} of the item")]
struct ParseError {
    column: usize,
}

impl StoreError {
    /// Returns true for a conflict with another writer: the caller reads again and decides anew.
    pub fn is_race(&self) -> bool {
        matches!(self.reason, Reason::PreconditionFailed | Reason::Conflict | Reason::RetryWith)
    }

    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self.reason,
            Reason::Throttled
                | Reason::RetryWith
                | Reason::Unavailable
                | Reason::NoContainer(_)
                | Reason::BudgetSpent
        )
    }

    pub(crate) fn is_permanent(&self) -> bool {
        matches!(
            self.reason,
            Reason::TooLarge | Reason::PartitionFull | Reason::Unreadable | Reason::Unexpected
        )
    }

    pub(crate) fn is_unanswered(&self) -> bool {
        self.answer_lost || self.reason == Reason::Unavailable
    }

    pub(crate) fn with_lost_answer(&self, answer_lost: bool) -> Self {
        Self { answer_lost: self.answer_lost || answer_lost, ..self.clone() }
    }

    /// Creates an error with this reason; `answer_lost` if an earlier attempt may have been carried out.
    pub fn new(reason: Reason, answer_lost: bool) -> Self {
        Self { reason, answer_lost, source: None }
    }

    /// Creates the error of a lost race that was detected by the app, before the store refused a write.
    pub fn race(answer_lost: bool) -> Self {
        Self::new(Reason::PreconditionFailed, answer_lost)
    }

    pub(crate) fn unexpected() -> Self {
        Self::new(Reason::Unexpected, false)
    }

    /// Creates the error of a row that is no item of its container.
    pub fn unreadable() -> Self {
        Self::new(Reason::Unreadable, false)
    }

    pub(super) fn from_parse(error: &serde_json::Error) -> Self {
        let source = ParseError { column: error.column() };
        Self { source: Some(Arc::new(source)), ..Self::unreadable() }
    }

    /// Creates the error of a read: it changes nothing, so no answer to a write was lost.
    pub(super) fn from_read(error: CosmosError) -> Self {
        Self { answer_lost: false, ..error.into() }
    }

    pub(super) fn from_lookup(id: &'static str, error: CosmosError) -> Self {
        let is_missing = u16::from(error.status()) == 404;
        let error = Self::from_read(error);
        if is_missing { Self { reason: Reason::NoContainer(id), ..error } } else { error }
    }

    pub(super) fn from_status(
        (status, sub_status): (u16, Option<u32>),
        diagnostics: &DiagnosticsContext,
    ) -> Self {
        let answer_lost = lost_an_answer(diagnostics);
        Self::new(Reason::from_status(status, sub_status), answer_lost)
    }
}

impl Reason {
    fn from_status(status: u16, sub_status: Option<u32>) -> Self {
        match status {
            403 if sub_status == Some(PARTITION_FULL) => Self::PartitionFull,
            404 if sub_status.is_some_and(|sub_status| sub_status != 0) => Self::Unavailable,
            404 => Self::NotFound,
            409 => Self::Conflict,
            412 => Self::PreconditionFailed,
            413 => Self::TooLarge,
            429 => Self::Throttled,
            449 => Self::RetryWith,
            // 401 and 403 are here, since new role assignments take minutes to reach the account.
            401 | 403 | 408 | 410 | 500 | 502..=504 => Self::Unavailable,
            _ => Self::Unexpected,
        }
    }
}

impl From<CosmosError> for StoreError {
    fn from(error: CosmosError) -> Self {
        let reason = match error.status().sub_status() {
            // The SDK calls this a 500, but a retry would return the same item.
            Some(UNREADABLE_ITEM) => Reason::Unreadable,
            sub_status => {
                let sub_status = sub_status.map(|sub_status| u32::from(sub_status.value()));
                Reason::from_status(u16::from(error.status()), sub_status)
            }
        };
        let answer_lost = reason == Reason::Unavailable
            || error.diagnostics().is_some_and(|diagnostics| lost_an_answer(&diagnostics));
        Self { reason, answer_lost, source: Some(Arc::new(error)) }
    }
}

fn lost_an_answer(diagnostics: &DiagnosticsContext) -> bool {
    let requests = diagnostics.requests();
    let repeated = requests.iter().rev().skip(1);
    repeated.map(|request| u16::from(*request.status())).any(|status| {
        // All other statuses say that nothing was carried out.
        matches!(status, 408 | 500 | 502..=504)
    })
}
