//! A function and its trigger.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::Value;
use time::OffsetDateTime;

use super::ncrontab::Schedule;
use super::newtonsoft::DateParsing;

/// One function: its trigger and its retry policy.
#[derive(Debug, Clone)]
pub struct Function {
    /// The folder's name.
    pub name: String,
    /// Name of the trigger's binding, under which the data arrive.
    pub binding: String,
    /// Its trigger.
    pub trigger: FunctionTrigger,
    /// Policy after a failure; with `None` a failed batch is lost.
    pub retry: Option<RetryPolicy>,
}

/// The trigger of a function.
#[derive(Debug, Clone)]
pub enum FunctionTrigger {
    /// A request.
    Http(HttpTrigger),
    /// Changes of a container.
    Cosmos(CosmosTrigger),
    /// A schedule.
    Timer(TimerTrigger),
}

/// An `httpTrigger`.
#[derive(Debug, Clone)]
pub struct HttpTrigger {
    /// The route template without the app's prefix.
    pub route: String,
    /// The methods; empty for all.
    pub methods: Vec<Method>,
    /// The key that a caller needs.
    pub auth_level: AuthLevel,
}

/// The `authLevel` of an HTTP function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthLevel {
    /// No key.
    Anonymous,
    /// A function key; the default.
    Function,
    /// The master key.
    Admin,
}

/// A `cosmosDBTrigger` of the extension's version 4.
#[derive(Debug, Clone)]
pub struct CosmosTrigger {
    /// Name of the setting with the account.
    pub connection: String,
    /// The database of the monitored container.
    pub database: String,
    /// The monitored container.
    pub container: String,
    /// Name of the setting with the account of the leases.
    pub lease_connection: String,
    /// The database of the lease container.
    pub lease_database: String,
    /// The lease container.
    pub lease_container: String,
    /// The prefix of this function's lease items.
    pub lease_prefix: String,
    /// Creates the lease container if it does not exist.
    pub create_lease_container: bool,
    /// Documents of one invocation at most; 100 by default, as the service's pages.
    pub max_items_per_invocation: u32,
    /// The pause after an empty read; 5 s by default.
    pub feed_poll_delay: Duration,
    /// The pause between an owner's writes of a lease without a checkpoint; 17 s by default.
    pub lease_renew_interval: Duration,
    /// The start without leases.
    pub start: FeedStart,
    /// The rule of `host.json` for strings that look like dates.
    pub dates: DateParsing,
    /// The last batch, which all clones share.
    pub last_batch: LastBatch,
}

/// The last batch of a trigger, as an example of one. It is kept in memory.
#[derive(Debug, Clone, Default)]
pub struct LastBatch(Arc<Mutex<Option<Arc<[Value]>>>>);

impl LastBatch {
    /// Returns the documents; `None` before the first batch.
    pub fn get(&self) -> Option<Arc<[Value]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, documents: Arc<[Value]>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(documents);
    }
}

/// The start of a trigger that has no leases yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStart {
    /// With the next change; the default.
    Now,
    /// With the first change that exists.
    Beginning,
    /// With the first change after this time.
    Time(OffsetDateTime),
}

/// A `timerTrigger`.
#[derive(Debug, Clone)]
pub struct TimerTrigger {
    /// Its schedule.
    pub schedule: Schedule,
    /// Also runs it when the host starts.
    pub run_on_startup: bool,
    /// Keeps the times of the last and next run; true by default.
    pub use_monitor: bool,
    /// The last run, which all clones share.
    pub last_run: LastRun,
}

/// The last run of a timer function; kept in memory, not in storage as the real host does.
#[derive(Debug, Clone, Default)]
pub struct LastRun(Arc<Mutex<Option<OffsetDateTime>>>);

impl LastRun {
    /// Returns the last run of this host.
    pub fn get(&self) -> Option<OffsetDateTime> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, time: OffsetDateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(time);
    }
}

impl TimerTrigger {
    /// Returns true if the host keeps a status, which it does not for a schedule shorter than a minute.
    pub(super) fn has_status(&self) -> bool {
        let first = self.schedule.next(OffsetDateTime::now_utc());
        let second = first.and_then(|first| self.schedule.next(first));
        let is_short = first.zip(second).is_some_and(|(a, b)| b - a < time::Duration::MINUTE);
        self.use_monitor && !is_short
    }
}

/// The `retry` of `function.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of retries of a failed invocation; -1 for ever.
    pub max_retry_count: i64,
    /// The first pause.
    pub minimum: Duration,
    /// The longest pause; the same as the first for a fixed delay.
    pub maximum: Duration,
}

impl RetryPolicy {
    /// Returns the pause before retry `count` (from 0), or `None` after the last retry.
    pub fn delay(&self, count: i64) -> Option<Duration> {
        if self.max_retry_count >= 0 && count >= self.max_retry_count {
            return None;
        }
        let doublings = u32::try_from(count).unwrap_or(u32::MAX).min(30);
        Some(self.minimum.saturating_mul(1 << doublings).min(self.maximum))
    }
}
