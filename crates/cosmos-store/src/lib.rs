//! Azure Cosmos DB (NoSQL) as a library and as one executable: in memory or on disk, for every SDK.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`json`] | values as the service holds them, from text and from the SDKs' binary JSON |
//! | `sql` | what an expression of a query is for an item: operators, functions, aggregates |
//! | [`engine`] | databases, containers and items, with their change logs, indexes and physical partitions |
//! | `query` | pages of a query over an engine, and the plans that SDKs ask for |
//! | [`http`] | the REST API of the service |

pub mod engine;
pub mod http;
pub mod json;
mod query;
mod sql;

/// A refusal, as the service answers it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status}/{sub_status}: {message}")]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `x-ms-substatus`; 0 is none.
    pub sub_status: u32,
    /// The text for people, as the service writes it where SDKs or their tests read it.
    pub message: String,
}

/// A result, or a refusal.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

impl Refusal {
    /// Creates a refusal without a sub-status.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, sub_status: 0, message: message.into() }
    }

    /// Adds a sub-status.
    #[must_use]
    pub fn with_sub_status(self, sub_status: u32) -> Self {
        Self { sub_status, ..self }
    }
}
