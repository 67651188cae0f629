//! A worker delivers the changes of one lease: one batch in flight, and a checkpoint after it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use azure_data_cosmos::ContainerClient;
use azure_data_cosmos::feed::{FeedPage, FeedRange};
use azure_data_cosmos::models::{ChangeFeedItem, ChangeFeedMetadata};
use futures::StreamExt as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::disturbance::{self, Crashing, Disturbance};
use super::feed::{FeedError, FeedPump, Pages, feed_ranges, pages};
use super::invoke::{self, InvocationOutcome, Invoker};
use super::lease::{Lease, Leases};
use super::wire;
use crate::lock;

/// The largest batch that is kept as an example.
const MAX_EXAMPLE_BYTES: usize = 256 * 1024;

pub(super) struct Worker {
    pub(super) pump: FeedPump,
    pub(super) leases: Leases,
    pub(super) lease: Lease,
    pub(super) pages: Pages,
    /// The ETag of the last page: the position behind it.
    pub(super) position: Option<String>,
    /// The monitored container, and its physical partitions when the leases were acquired.
    pub(super) container: ContainerClient,
    pub(super) topology: Arc<[FeedRange]>,
    /// The JSON pointers to the values of the monitored container's partition key.
    pub(super) key_paths: Vec<String>,
    pub(super) disturbance: Disturbance,
}

impl Worker {
    /// Delivers until it is told to finish, which it does after the batch in flight.
    pub(super) async fn run(mut self, finish: CancellationToken) -> Result<(), FeedError> {
        let poll_delay = self.pump.options.poll_delay.unwrap_or(self.pump.trigger.feed_poll_delay);
        while !finish.is_cancelled() {
            let is_idle = match self.step(None).await {
                Ok(delivered) => delivered.is_none(),
                // The real trigger gives the lease back, and its next owner reads this page.
                Err(error @ FeedError::PageNotRead { .. }) => {
                    self.pump.options.console.error(&error.to_string());
                    self.pages =
                        pages(&self.container, &self.pump.trigger, &self.leases, &self.lease)
                            .await?;
                    true
                }
                Err(error) => return Err(error),
            };
            if self.lease.written_at.elapsed() >= self.pump.trigger.lease_renew_interval {
                self.leases.replace(&mut self.lease).await?;
            }
            if is_idle {
                finish.run_until_cancelled(tokio::time::sleep(poll_delay)).await;
            }
        }
        Ok(())
    }

    /// Reads a page and delivers it. Returns the number of documents, or `None` without changes.
    pub(super) async fn step(
        &mut self,
        give_up_after: Option<i64>,
    ) -> Result<Option<usize>, FeedError> {
        if let Some(chaos) = &self.pump.options.chaos {
            for documents in self.disturbance.due(chaos) {
                self.pump.deliver_once(&self.read(&documents)?).await;
            }
        }
        let Some(page) = self.pages.next().await.transpose()? else {
            return Ok(None);
        };
        self.position = page.headers().etag().map(ToString::to_string);
        let mut documents = documents(page);
        let is_first = self.lease.item.continuation.is_none();
        if documents.is_empty() && !is_first {
            return Ok(None);
        }
        // A page that was read while its partition split is not delivered: the children continue from the last
        // checkpoint, which is a position in the parent.
        if *feed_ranges(&self.container).await? != *self.topology {
            return Err(FeedError::Split);
        }
        if documents.is_empty() {
            // Without it, a restart would skip the changes until then.
            self.checkpoint().await?;
            return Ok(None);
        }
        let chaos = self.pump.options.chaos.clone();
        if let Some(chaos) = &chaos {
            disturbance::reorder(chaos, &self.key_paths, &mut documents).await;
        }
        let batch = self.read(&documents)?;
        let late = chaos.as_ref().and_then(disturbance::overlap);
        let deliver = async {
            let second = async {
                if let Some(late) = late {
                    tokio::time::sleep(late).await;
                    self.pump.deliver_once(&batch).await;
                }
            };
            tokio::join!(self.pump.deliver(&batch, give_up_after), second).0
        };
        let interval = self.pump.trigger.lease_renew_interval;
        let delivered = renewing(&self.leases, &mut self.lease, interval, deliver).await??;
        self.checkpoint().await?;
        if let Some(chaos) = chaos
            && self.disturbance.is_repeated_at_once(&chaos, &documents)
        {
            self.pump.deliver_once(&batch).await;
        }
        Ok(Some(delivered))
    }

    /// Reads documents as the trigger does, before it calls the handler.
    fn read(&self, documents: &[Value]) -> Result<DocumentBatch, FeedError> {
        let function = &self.pump.function;
        match wire::page(function, documents) {
            Ok(page) => {
                if page.len() <= MAX_EXAMPLE_BYTES {
                    *lock(&self.pump.trigger.last_batch) = Some(documents.into());
                }
                Ok(DocumentBatch { page, count: documents.len() })
            }
            Err(exception) => Err(FeedError::PageNotRead {
                function: function.name.clone(),
                lease: self.lease.item.id.clone(),
                exception,
            }),
        }
    }

    async fn checkpoint(&mut self) -> Result<(), FeedError> {
        if self.position.is_some() {
            self.lease.item.continuation.clone_from(&self.position);
            self.leases.replace(&mut self.lease).await?;
        }
        Ok(())
    }
}

/// Waits for a delivery, and renews the lease meanwhile: a batch may be retried for days.
async fn renewing<T>(
    leases: &Leases,
    lease: &mut Lease,
    interval: Duration,
    delivery: impl Future<Output = T>,
) -> Result<T, FeedError> {
    let mut delivery = pin!(delivery);
    loop {
        let next = lease.written_at + interval;
        tokio::select! {
            delivered = &mut delivery => return Ok(delivered),
            () = tokio::time::sleep_until(next) => leases.replace(lease).await?,
        }
    }
}

/// Returns the documents of a page, each with its `_lsn`, which the feed gives beside it.
fn documents(page: FeedPage<ChangeFeedItem<Value>>) -> Vec<Value> {
    page.into_items()
        .into_iter()
        .filter_map(|change| {
            let lsn = change.metadata().and_then(ChangeFeedMetadata::lsn);
            let mut document = change.current()?.clone();
            if let (Some(fields), Some(lsn)) = (document.as_object_mut(), lsn) {
                fields.insert("_lsn".to_owned(), lsn.value().into());
            }
            Some(document)
        })
        .collect()
}

struct DocumentBatch {
    /// Their text.
    page: String,
    /// Their number.
    count: usize,
}

impl FeedPump {
    async fn deliver(
        &self,
        batch: &DocumentBatch,
        give_up_after: Option<i64>,
    ) -> Result<usize, FeedError> {
        let Self { function, options, .. } = self;
        let count = batch.count;
        match self.invoke(self.invoker.as_ref(), batch, give_up_after).await {
            InvocationOutcome::Succeeded => Ok(count),
            InvocationOutcome::Failed(failure) => {
                options.console.error(&format!(
                    "LOST: {count} changes for {}: {failure}. No retry is left, so the host \
                     checkpoints and goes on; give function.json a retry with maxRetryCount -1",
                    function.name
                ));
                Ok(0)
            }
            InvocationOutcome::GivenUp(failure) => {
                let attempts = give_up_after.unwrap_or_default();
                let name = &function.name;
                Err(anyhow!("a batch for {name} failed {attempts} times: {failure}").into())
            }
        }
    }

    /// Delivers a batch to the second instance, which has no lease and does not retry.
    async fn deliver_once(&self, batch: &DocumentBatch) {
        let second = self.options.second_invoker.as_ref().unwrap_or(&self.invoker);
        self.invoke(second.as_ref(), batch, Some(1)).await;
    }

    async fn invoke(
        &self,
        invoker: &dyn Invoker,
        batch: &DocumentBatch,
        give_up_after: Option<i64>,
    ) -> InvocationOutcome {
        let Self { function, options, .. } = self;
        let crashing = options.chaos.as_ref().map(|chaos| Crashing { invoker, chaos });
        let DocumentBatch { page, count } = batch;
        invoke::run(
            crashing.as_ref().map_or(invoker, |crashing| crashing),
            function,
            |attempt| wire::documents(function, page, attempt),
            options.retry_scale,
            give_up_after,
            &options.console,
            &format!("{count} document{}", if *count == 1 { "" } else { "s" }),
        )
        .await
    }
}
