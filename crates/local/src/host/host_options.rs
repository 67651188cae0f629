//! Options of the host.

use std::path::PathBuf;
use std::time::Duration;

use super::console::Console;
use super::keys::Keys;
use crate::chaos::Chaos;

/// Options of a host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The base of the handler's executable and working directory.
    pub root: PathBuf,
    /// The port of the HTTP functions on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The keys that callers need; with `None` they need none, as with Core Tools.
    pub keys: Option<Keys>,
    /// The pause after an empty read, instead of every trigger's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The factor of the retry policies' pauses; 1 except for tests.
    pub retry_scale: f64,
    /// The time for the handler's first answer; the host waits 30 s.
    pub start_timeout: Duration,
    /// See [`HandlerOptions::launcher`](super::HandlerOptions::launcher).
    pub launcher: Option<Vec<PathBuf>>,
    /// The console of the host.
    pub console: Console,
    /// Faults of deliveries. If batches overlap, a second handler runs too. If reads are stale, a
    /// further handler serves some of the triggers alone, as each does in Azure.
    pub chaos: Option<Chaos>,
}

impl HostOptions {
    /// Returns the real host's behaviour for the app in `root`, on a free port.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            port: 0,
            keys: None,
            poll_delay: None,
            retry_scale: 1.0,
            start_timeout: Duration::from_secs(30),
            launcher: None,
            console: Console::stderr(),
            chaos: None,
        }
    }
}
