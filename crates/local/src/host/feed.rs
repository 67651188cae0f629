//! The pump of one `cosmosDBTrigger`, from the change feed into invocations.
//!
//! Each lease has a worker, so one batch is in flight for each physical partition. The worker writes
//! the checkpoint only after the batch is applied, or after a failure without a remaining retry, by
//! which the real host loses the batch.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use azure_data_cosmos::feed::{ChangeFeedPageIterator, ContinuationToken, FeedRange};
use azure_data_cosmos::models::{ChangeFeedItem, EffectivePartitionKey};
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, ReadFeedRangesOptions,
};
use azure_data_cosmos::{ContainerClient, CosmosClient, CosmosError, FeedScope, SubStatusCode};
use cosmos_model::change_feed::{EpkRange, sdk_continuation};
use futures::future;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::console::Console;
use super::disturbance::Disturbance;
use super::function::{CosmosTrigger, Function, FunctionTrigger};
use super::invoke::{Invoker, chain};
use super::lease::{Lease, Leases};
use super::newtonsoft;
use super::worker::Worker;
use crate::chaos::Chaos;

/// The pump of one `cosmosDBTrigger`.
#[derive(Clone)]
pub struct FeedPump {
    client: CosmosClient,
    pub(super) function: Function,
    pub(super) trigger: CosmosTrigger,
    pub(super) invoker: Arc<dyn Invoker>,
    pub(super) options: FeedOptions,
    owner: String,
}

const TOPOLOGY_INTERVAL: Duration = Duration::from_secs(1);
const ERROR_DELAY: Duration = Duration::from_secs(1);
/// The SDK has used up its retries on a partition that splits.
const SPLIT_RETRIES_EXHAUSTED: SubStatusCode = SubStatusCode::new(20206);
/// The number of failed attempts after which a drain gives a batch up, also under an endless policy.
const DRAIN_ATTEMPTS: i64 = 5;
/// The pause of a drain while a partition splits, and the longest wait for it.
const SPLIT_DELAY: Duration = Duration::from_millis(20);
const MAX_SPLIT_WAIT: Duration = Duration::from_secs(20);

impl FeedPump {
    /// Creates a pump for a function with a `cosmosDBTrigger`.
    ///
    /// # Errors
    /// If the function has another trigger.
    pub fn new(
        client: CosmosClient,
        function: &Function,
        invoker: Arc<dyn Invoker>,
        options: FeedOptions,
    ) -> Result<Self, FeedError> {
        let FunctionTrigger::Cosmos(trigger) = &function.trigger else {
            let name = &function.name;
            let reason =
                anyhow!("{name} has no cosmosDBTrigger, so there is no change feed to pump");
            return Err(reason.into());
        };
        Ok(Self {
            client,
            function: function.clone(),
            trigger: trigger.clone(),
            invoker,
            options,
            owner: uuid::Uuid::new_v4().to_string(),
        })
    }

    /// Delivers changes until `stop`, also after errors of the store. After its return nothing is under way.
    pub async fn run(&self, stop: CancellationToken) {
        let console = &self.options.console;
        let mut last_error = String::new();
        while !stop.is_cancelled() {
            let Err(error) = self.run_until_split(&stop).await else { continue };
            let text = format!("{}: {}", self.function.name, chain(&error));
            // A repetition each second would hide all other lines.
            if text != last_error {
                console.error(&text);
                last_error = text;
            }
            let is_taken = match &error {
                FeedError::LeaseLost(lease) => !self.is_released(lease).await.unwrap_or(true),
                _ => false,
            };
            if is_taken {
                console.warn(&format!("{}: the trigger stops here", self.function.name));
                return stop.cancelled().await;
            }
            stop.run_until_cancelled(tokio::time::sleep(ERROR_DELAY)).await;
        }
    }

    /// Delivers all pending changes, for tests, until every partition is quiet. Returns the number of
    /// delivered documents, without those of lost batches.
    ///
    /// # Errors
    /// If the store refuses a request, a batch fails five times, or a page cannot be read.
    pub async fn drain(&self) -> Result<usize, FeedError> {
        let began = Instant::now();
        let delivered = AtomicUsize::new(0);
        loop {
            match self.drain_until_split(&delivered).await {
                Err(FeedError::Split) => {}
                Err(FeedError::Store(error))
                    if is_splitting(&error) && began.elapsed() < MAX_SPLIT_WAIT =>
                {
                    tokio::time::sleep(SPLIT_DELAY).await;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(delivered.into_inner()),
            }
        }
    }

    async fn drain_until_split(&self, delivered: &AtomicUsize) -> Result<(), FeedError> {
        let workers = self.workers().await?.into_iter().map(async |mut worker| {
            while let Some(count) = worker.step(Some(DRAIN_ATTEMPTS)).await? {
                delivered.fetch_add(count, Ordering::Relaxed);
            }
            // A read during a split may have asked only one of the children, and found no changes.
            if *feed_ranges(&worker.container).await? != *worker.topology {
                return Err(FeedError::Split);
            }
            Ok(())
        });
        future::join_all(workers).await.into_iter().collect()
    }

    /// Runs until the physical partitions change, until `stop`, or until an error.
    async fn run_until_split(&self, stop: &CancellationToken) -> Result<(), FeedError> {
        let workers = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            workers = self.workers() => workers?,
        };
        let finish = CancellationToken::new();
        let mut running = JoinSet::new();
        let mut look = None;
        for worker in workers {
            look.get_or_insert_with(|| (worker.container.clone(), worker.topology.clone()));
            running.spawn(worker.run(finish.clone()));
        }
        let ended = loop {
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                Some(ended) = running.join_next() => match ended {
                    Ok(ended) => break ended,
                    // The worker panicked.
                    Err(_) => break Ok(()),
                },
                // A partition without changes does not notice a split by itself.
                () = tokio::time::sleep(TOPOLOGY_INTERVAL) => {
                    if let Some((container, topology)) = &look {
                        match feed_ranges(container).await {
                            Ok(ranges) if ranges == **topology => {}
                            Ok(_) => break Err(FeedError::Split),
                            Err(error) => break Err(error.into()),
                        }
                    }
                }
            }
        };
        if matches!(ended, Err(FeedError::Split)) {
            finish.cancel();
            let finished = async { while running.join_next().await.is_some() {} };
            tokio::select! {
                () = finished => return Ok(()),
                // A failing batch is retried until `stop`, in any state of the handler.
                () = stop.cancelled() => {}
            }
        }
        // An aborted worker may still be writing in another thread: the lease would change under its next owner.
        running.shutdown().await;
        ended
    }

    async fn workers(&self) -> Result<Vec<Worker>, FeedError> {
        let (container, leases) = self.open().await?;
        let topology: Arc<[FeedRange]> = feed_ranges(&container).await?.into();
        let key_paths = match &self.options.chaos {
            Some(_) => key_paths(&container).await?,
            None => Vec::new(),
        };
        let mut workers = Vec::new();
        for lease in leases.acquire(&topology).await? {
            workers.push(Worker {
                pages: pages(&container, &self.trigger, &leases, &lease).await?,
                position: None,
                pump: self.clone(),
                leases: leases.clone(),
                lease,
                container: container.clone(),
                topology: topology.clone(),
                key_paths: key_paths.clone(),
                disturbance: Disturbance::default(),
            });
        }
        Ok(workers)
    }

    /// Returns true if an operator has taken a lost lease away. The trigger acquires it again.
    async fn is_released(&self, lease: &str) -> Result<bool, FeedError> {
        let (_, leases) = self.open().await?;
        leases.is_released(lease).await
    }

    async fn open(&self) -> Result<(ContainerClient, Leases), FeedError> {
        let Self { client, trigger, options, owner, .. } = self;
        let container = open(client, &trigger.database, &trigger.container).await?;
        let lease_client = options.lease_client.as_ref().unwrap_or(client);
        let leases = Leases::open(lease_client, trigger, (client, &container), owner).await?;
        Ok((container, leases))
    }
}

fn is_splitting(error: &CosmosError) -> bool {
    u16::from(error.status()) == 410 || error.status().sub_status() == Some(SPLIT_RETRIES_EXHAUSTED)
}

/// The reason why a pump ends.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// Another host wrote the lease.
    #[error("the lease {0} was taken by another host")]
    LeaseLost(String),
    /// A physical partition has split, so the leases have to be acquired again.
    #[error("a physical partition has split")]
    Split,
    /// The trigger cannot read a page: it retries the page for ever, and calls no handler.
    #[error(
        "{function}: Lease {lease} encountered an unhandled user exception during processing: \
         {exception}"
    )]
    PageNotRead {
        /// The function.
        function: String,
        /// The lease of the page.
        lease: String,
        /// The exception of the reader.
        exception: newtonsoft::Exception,
    },
    /// The store refused a request.
    #[error("the store refused a request of the trigger")]
    Store(#[from] CosmosError),
    /// Another reason, such as a container that cannot be opened.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

pub(super) async fn open(
    client: &CosmosClient,
    database: &str,
    container: &str,
) -> Result<ContainerClient, FeedError> {
    let opened = client.database_client(database).container_client(container, None).await;
    Ok(opened.with_context(|| {
        format!("the container {container} of the database {database} cannot be opened")
    })?)
}

/// Options of a pump.
#[derive(Clone)]
pub struct FeedOptions {
    /// The pause after an empty read, instead of the function's `feedPollDelay`.
    pub poll_delay: Option<Duration>,
    /// The factor of the retry policy's pauses; less than 1 for tests.
    pub retry_scale: f64,
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
            console: Console::stderr(),
            lease_client: None,
            chaos: None,
            second_invoker: None,
        }
    }
}

pub(super) type Pages = ChangeFeedPageIterator<ChangeFeedItem<Value>>;

pub(super) async fn pages(
    container: &ContainerClient,
    trigger: &CosmosTrigger,
    leases: &Leases,
    lease: &Lease,
) -> Result<Pages, FeedError> {
    let page_size = NonZeroU32::new(trigger.max_items_per_invocation);
    let page_size = page_size.map_or(MaxItemCountHint::ServerDecides, MaxItemCountHint::Limit);
    let mut options = ChangeFeedOptions::default().with_max_item_count(page_size);
    if let Some(continuation) = &lease.item.continuation {
        let token = sdk_continuation(&leases.rid, &epk_range(&lease.range), continuation);
        options = options.with_continuation_token(ContinuationToken::from_string(token));
    }
    let start = if trigger.from_beginning {
        ChangeFeedStartFrom::Beginning
    } else {
        ChangeFeedStartFrom::Now
    };
    let scope = FeedScope::range(lease.range.clone());
    Ok(container.query_change_feed::<Value>(scope, start, Some(options)).await?)
}

pub(super) async fn key_paths(container: &ContainerClient) -> Result<Vec<String>, FeedError> {
    let properties = container.read(None).await?.into_model()?;
    Ok(properties.partition_key.paths().iter().map(ToString::to_string).collect())
}

pub(super) async fn feed_ranges(
    container: &ContainerClient,
) -> Result<Vec<FeedRange>, CosmosError> {
    let options = ReadFeedRangesOptions::default().with_force_refresh(true);
    container.read_feed_ranges(Some(options)).await
}

pub(super) fn epk_range(range: &FeedRange) -> EpkRange {
    EpkRange { min: range.min_inclusive().to_hex(), max: range.max_exclusive().to_hex() }
}

pub(super) fn feed_range(range: &EpkRange) -> Result<FeedRange, CosmosError> {
    let min = EffectivePartitionKey::try_from(range.min.as_str())?;
    FeedRange::new(min, EffectivePartitionKey::try_from(range.max.as_str())?)
}
