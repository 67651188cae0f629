//! Options of a `cosmosDBTrigger`.

use std::sync::Arc;
use std::time::Duration;

use azure_data_cosmos::CosmosClient;

use super::console::Console;
use super::invoke::Invoker;
use crate::chaos::Chaos;

/// Options of a pump.
#[derive(Clone)]
pub struct FeedOptions {
    /// The pause after an empty read, instead of the function's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The factor of the retry policy's pauses; less than 1 for tests.
    pub retry_scale: f64,
    /// The number of failed attempts of one batch after which
    /// [`FeedPump::drain`](super::FeedPump::drain) ends with an error, also under an endless policy.
    pub drain_attempts: i64,
    /// The console with a line for each invocation.
    pub console: Console,
    /// The account of the leases, if it is another one.
    pub lease_client: Option<CosmosClient>,
    /// Delivers duplicates, late, in another order, to two instances, and kills the handler.
    pub chaos: Option<Chaos>,
    /// The second instance for `chaos`; without it the first plays both.
    pub second_invoker: Option<Arc<dyn Invoker>>,
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self {
            poll_delay: None,
            retry_scale: 1.0,
            drain_attempts: 5,
            console: Console::stderr(),
            lease_client: None,
            chaos: None,
            second_invoker: None,
        }
    }
}
