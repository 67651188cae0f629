//! A function and what starts it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use time::OffsetDateTime;

use super::ncrontab::Schedule;
use super::newtonsoft::DateParsing;

/// One function: its trigger and its retry policy.
#[derive(Debug, Clone)]
pub struct Function {
    /// The folder's name.
    pub name: String,
    /// The name of the trigger's binding, under which the data come.
    pub binding: String,
    /// What starts it.
    pub trigger: Trigger,
    /// What happens after a failure; `None` loses a failed batch.
    pub retry: Option<RetryPolicy>,
}

/// What starts a function.
#[derive(Debug, Clone)]
pub enum Trigger {
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
    /// Which key a caller needs.
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
    /// The setting that names the account.
    pub connection: String,
    /// The database of the monitored container.
    pub database: String,
    /// The monitored container.
    pub container: String,
    /// The setting that names the account of the leases.
    pub lease_connection: String,
    /// The database of the lease container.
    pub lease_database: String,
    /// The lease container.
    pub lease_container: String,
    /// What this function's lease items begin with.
    pub lease_prefix: String,
    /// Creates the lease container when it is not there.
    pub create_lease_container: bool,
    /// The most documents of one invocation; 100 unless said, as the service's pages.
    pub max_items_per_invocation: u32,
    /// The pause after an empty read; 5 s unless said.
    pub feed_poll_delay: Duration,
    /// Where to start without leases.
    pub start: FeedStart,
    /// What `host.json` says of strings that look like dates.
    pub dates: DateParsing,
}

/// Where a trigger starts that has no leases yet.
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
    /// When it runs.
    pub schedule: Schedule,
    /// Also runs it when the host starts.
    pub run_on_startup: bool,
    /// Keeps the times of the last and next run; true unless said.
    pub use_monitor: bool,
    /// The last run, which all clones share.
    pub last_run: LastRun,
}

/// When a timer function ran last; kept in memory, not in storage as the real host does.
#[derive(Debug, Clone, Default)]
pub struct LastRun(Arc<Mutex<Option<OffsetDateTime>>>);

impl LastRun {
    /// The last run of this host.
    pub fn get(&self) -> Option<OffsetDateTime> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, time: OffsetDateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(time);
    }
}

impl TimerTrigger {
    /// Whether the host keeps a status: not for a schedule shorter than a minute.
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
    /// How often a failed invocation is tried again; -1 for ever.
    pub max_retry_count: i64,
    /// The first pause.
    pub minimum: Duration,
    /// The longest pause; the same as the first for a fixed delay.
    pub maximum: Duration,
}

impl RetryPolicy {
    /// The pause before retry `count` (from 0), or `None` when there is none left.
    pub fn delay(&self, count: i64) -> Option<Duration> {
        if self.max_retry_count >= 0 && count >= self.max_retry_count {
            return None;
        }
        let doublings = u32::try_from(count).unwrap_or(u32::MAX).min(30);
        Some(self.minimum.saturating_mul(1 << doublings).min(self.maximum))
    }
}
