//! The access to Cosmos DB: the client, its containers, transactions, group commit, retries, sessions, costs
//! and budgets.

mod budget;
mod change_feed;
mod client;
mod combiner;
mod container;
mod error;
mod etag;
mod json;
mod meter;
mod pacer;
mod position;
mod queries;
mod retry;
mod session;
mod transaction;

pub use azure_data_cosmos::Query;
pub use budget::deadline;
pub use budget::{Budget, Limits};
pub(crate) use budget::{within, within_request};
pub(crate) use change_feed::{FeedHead, parts_of};
pub use client::{Cosmos, CosmosOptions, containers};
pub(crate) use combiner::{Combine, Combiner};
pub use container::Container;
pub(crate) use container::FeedIdentity;
pub use error::{Reason, StoreError};
pub use etag::ETag;
pub(crate) use json::parse_item;
pub use json::{JsonText, ReadResult, Stored};
pub use meter::{Meter, metered};
pub use pacer::{Background, BackgroundOptions, Pacer, Turns};
pub(crate) use position::{ContainerTag, Position, SessionPosition};
pub(crate) use queries::QueryPosition;
pub use queries::{Pages, RowResult, Scope};
pub use retry::{Attempt, Retryable, retry};
pub(crate) use retry::{confirmed, decided, decides_on_latest};
pub(crate) use session::{
    Captures, EagerApplications, SeenPositions, Session, in_no_session, in_session,
};
pub use transaction::{Refusal, Transaction};
