//! Options of the host.

use std::path::PathBuf;
use std::time::Duration;

use super::console::Console;
use super::keys::Keys;
use crate::chaos::Chaos;

/// How the host runs an app.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The folder that the handler's executable and working directory are relative to.
    pub root: PathBuf,
    /// The port of the HTTP functions on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// Asks callers for these keys; `None` asks for none, as Core Tools does.
    pub keys: Option<Keys>,
    /// Instead of every trigger's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The retry policies' pauses are multiplied by it; 1 but for tests.
    pub retry_scale: f64,
    /// How long the handler may take to answer; the host waits 30 s.
    pub start_timeout: Duration,
    /// See [`HandlerOptions::launcher`](super::HandlerOptions::launcher).
    pub launcher: Option<Vec<PathBuf>>,
    /// Where the lines go.
    pub console: Console,
    /// What goes wrong with deliveries; when batches overlap, a second handler runs too, and when
    /// reads are stale, one that serves some of the triggers alone, as each does in Azure.
    pub chaos: Option<Chaos>,
}

impl HostOptions {
    /// The real host's behaviour for the app in `root`, on a free port.
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
