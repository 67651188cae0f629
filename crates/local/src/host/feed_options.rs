//! Options of a `cosmosDBTrigger`.

use std::sync::Arc;
use std::time::Duration;

use azure_data_cosmos::CosmosClient;

use super::console::Console;
use super::invoke::Invoker;
use crate::chaos::Chaos;

/// How a pump works.
#[derive(Clone)]
pub struct FeedOptions {
    /// The pause after an empty read, instead of the function's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The retry policy's pauses are multiplied by it; less than 1 for tests.
    pub retry_scale: f64,
    /// After so many failed attempts of one batch [`FeedPump::drain`](super::FeedPump::drain) ends with an error, also
    /// when the policy would go on for ever.
    pub drain_attempts: i64,
    /// Where a line for each invocation goes.
    pub console: Console,
    /// The account of the leases when it is another one.
    pub lease_client: Option<CosmosClient>,
    /// Delivers twice, late, in another order, to two instances, and kills the handler.
    pub chaos: Option<Chaos>,
    /// The second instance for `chaos`; the first plays both when there is none.
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
