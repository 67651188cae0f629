//! The access to Cosmos DB: the client, its containers, transactions, group commit, retries, sessions, costs
//! and budgets.

mod background;
mod budget;
mod change_feed;
mod client;
mod combiner;
mod container;
mod containers;
mod error;
mod etag;
mod json;
mod meter;
mod pacer;
mod position;
mod queries;
mod retry;
mod session;
mod stored;
mod transaction;

pub use azure_data_cosmos::Query;
pub use background::{Background, BackgroundOptions, Turns};
pub use budget::{Budget, Limits, deadline, within};
pub use change_feed::{FeedHead, NextChange, parts_of};
pub use client::{Cosmos, CosmosOptions};
pub use combiner::{Combine, Combiner, GroupPanicked};
pub use container::{Container, FeedIdentity};
pub use containers::containers;
pub use error::{Reason, StoreError};
pub use etag::ETag;
pub use json::JsonText;
pub use meter::{Meter, metered};
pub use pacer::Pacer;
pub use position::{ContainerTag, Position, SessionPosition};
pub use queries::{Pages, QueryPosition, RowResult, Scope};
pub use retry::{Attempt, Reads, Retryable, Unconfirmed, confirm, retry};
pub use session::{
    Captures, EagerApplications, SeenPositions, Session, WrittenDocument, in_no_session, in_session,
};
pub use stored::{ReadResult, Stored};
pub use transaction::{Refusal, Transaction};
