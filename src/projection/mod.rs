//! Projections: what keeps the copies true.
//!
//! The change feed delivers every change of a container at least once: late, again after a crash,
//! and for a moment to two instances. A projection gives the same result all the same, because
//! every copy carries the version of its source, every write of a copy is conditional, and an
//! older version never replaces a newer one.
//!
//! [`run`] does for all projections what is not special to one: it reads the documents, keeps the
//! newest change of each source, applies the changes some at a time, tries again what another
//! writer or a busy store got in the way of, and answers the host:
//!
//! - success only when every change is applied or stored as a dead letter;
//! - a failure otherwise, so that the host delivers the whole batch again.
//!
//! To write a projection: 1. a type with [`Projection`], one file in the `projections` folder of
//! the domain; 2. what it writes, as a pure function of the change and of what is there; 3. a line
//! in [`crate::app`]; 4. a folder in `functions/` with its own `leaseContainerPrefix`; 5. a story
//! in `tests/it/` that delivers a batch twice, reversed and late.

mod dead_letter;

use std::collections::HashMap;

use custom_handler::{Document, Documents, InvocationId};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde::{Deserialize, de::DeserializeOwned};

pub use self::dead_letter::{DeadLetter, DeadLetters};
use crate::{
    cosmos::{Reason, Retryable, StoreError, metered, retry},
    values::Timestamp,
};

/// Keeps one kind of copy true to its source.
pub trait Projection: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// The property of the items that is the partition key of their container.
    const PARTITION_KEY: &'static str;
    /// How many changes are applied at a time.
    const CONCURRENCY: usize = 16;
    /// An item of the container whose change feed is read.
    type Change: DeserializeOwned + Send + Sync;

    /// What the change is of, by a name that nothing else in the container has (an id alone is only
    /// unique within its logical partition), and in which version; `None` when it is of no interest.
    fn source(change: &Self::Change) -> Option<(String, u64)>;

    /// Makes the copies true to the change. An error leaves the copies in any valid state: the
    /// change will be applied again.
    fn apply(
        &self,
        change: &Self::Change,
    ) -> impl Future<Output = Result<Effect, StoreError>> + Send;
}

/// What applying a change has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Copies were written.
    Applied,
    /// Everything was as it should be, or newer.
    Unchanged,
}

/// Why a batch has to be delivered again.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {changes} changes were not applied; the first: {first:?}")]
pub struct Undelivered {
    failed: usize,
    changes: usize,
    first: Reason,
}

/// Applies a batch of the change feed.
pub async fn run<P: Projection>(
    projection: &P,
    dead_letters: &DeadLetters,
    Documents(documents): Documents,
    InvocationId(invocation): InvocationId,
) -> Result<(), Undelivered> {
    let (delivered, lag_ms) = (documents.len(), lag_ms(&documents));
    let (changes, unreadable) = newest_changes::<P>(documents);
    let batch = Batch { projection, dead_letters, invocation: &invocation };

    let mut work: Vec<BoxFuture<'_, Result<Fate, StoreError>>> = Vec::with_capacity(delivered);
    for (document, change) in &changes {
        work.push(batch.apply(document, change).boxed());
    }
    for (document, reason) in &unreadable {
        work.push(batch.give_up(document, reason).boxed());
    }
    let work = stream::iter(work).buffer_unordered(P::CONCURRENCY).collect::<Vec<_>>();
    let (results, meter) = metered(work).await;

    let count =
        |wanted| results.iter().filter(|r| matches!(r, Ok(fate) if *fate == wanted)).count();
    let failures: Vec<Reason> =
        results.iter().filter_map(|result| result.as_ref().err()).map(|e| e.reason).collect();
    tracing::info!(
        delivered,
        applied = count(Fate::Done(Effect::Applied)),
        unchanged = count(Fate::Done(Effect::Unchanged)),
        dead_letters = count(Fate::DeadLetter),
        failed = failures.len(),
        lag_ms,
        request_charge_ru = meter.request_units(),
        store.requests = meter.requests(),
        "Applied a batch of changes"
    );
    match failures.first() {
        None => Ok(()),
        Some(first) => {
            Err(Undelivered { failed: failures.len(), changes: results.len(), first: *first })
        }
    }
}

/// What became of a change that may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done(Effect),
    DeadLetter,
}

struct Batch<'a, P> {
    projection: &'a P,
    dead_letters: &'a DeadLetters,
    invocation: &'a str,
}

impl<P: Projection> Batch<'_, P> {
    async fn apply(&self, document: &Document, change: &P::Change) -> Result<Fate, StoreError> {
        let attempt = async |_| self.projection.apply(change).await.map_err(Attempt);
        match retry(attempt).await {
            Ok(effect) => Ok(Fate::Done(effect)),
            Err(Attempt(error)) if is_permanent(&error) => {
                let reason = format!("the store refused a copy: {:?}", error.reason);
                self.give_up(document, &reason).await
            }
            Err(Attempt(error)) => Err(error),
        }
    }

    async fn give_up(&self, document: &Document, reason: &str) -> Result<Fate, StoreError> {
        let letter = DeadLetter::new::<P>(self.invocation, document, reason.to_owned());
        self.dead_letters.store(letter).await?;
        Ok(Fate::DeadLetter)
    }
}

/// The newest change of each source, and the documents that cannot be read.
type Sorted<C> = (Vec<(Document, C)>, Vec<(Document, String)>);

fn newest_changes<P: Projection>(documents: Vec<Document>) -> Sorted<P::Change> {
    let mut changes: Vec<(Document, P::Change)> = Vec::with_capacity(documents.len());
    let mut newest: HashMap<String, (usize, u64)> = HashMap::new();
    let mut unreadable = Vec::new();
    for document in documents {
        let change = match document.parse::<P::Change>() {
            Ok(change) => change,
            Err(error) => {
                // The message may quote values: the line and column are enough to find them.
                let at = format!("line {}, column {}", error.line(), error.column());
                unreadable.push((document, format!("not an item of this container ({at})")));
                continue;
            }
        };
        let Some((source, version)) = P::source(&change) else {
            continue;
        };
        match newest.get_mut(&source) {
            Some((_, known)) if *known > version => {}
            Some((place, known)) => {
                *known = version;
                changes[*place] = (document, change);
            }
            None => {
                newest.insert(source, (changes.len(), version));
                changes.push((document, change));
            }
        }
    }
    (changes, unreadable)
}

/// An error of one try, which the next may not meet.
struct Attempt(StoreError);

impl Retryable for Attempt {
    fn is_retryable(&self) -> bool {
        self.0.is_race() || self.0.is_transient()
    }

    fn is_answer_lost(&self) -> bool {
        self.0.answer_lost
    }
}

/// Whether the same change is certain to fail again.
fn is_permanent(error: &StoreError) -> bool {
    matches!(error.reason, Reason::TooLarge | Reason::Unexpected)
}

/// How long the oldest change of a batch has waited, in milliseconds; the store's clock gives
/// seconds (`_ts`).
fn lag_ms(documents: &[Document]) -> u64 {
    #[derive(Deserialize)]
    struct Stamp {
        #[serde(rename = "_ts")]
        seconds: i64,
    }
    let oldest = documents.iter().filter_map(|d| d.parse::<Stamp>().ok()).map(|s| s.seconds).min();
    oldest
        .and_then(Timestamp::from_unix_seconds)
        .map_or(0, |written| Timestamp::now().millis_since(written))
}
