//! The delivery of documents as invocations.

use std::sync::Arc;

use super::disturbance::Crashing;
use super::feed_error::FeedError;
use super::feed_options::FeedOptions;
use super::function::Function;
use super::invoke::{self, InvocationOutcome, Invoker, Retrying};
use super::wire;

/// Documents as the trigger has read them.
pub(super) struct DocumentBatch {
    /// Their text.
    pub page: String,
    /// Their number.
    pub count: usize,
}

/// The delivery of a function's batches to its handler.
#[derive(Clone)]
pub(super) struct Delivery {
    pub(super) function: Function,
    pub(super) invoker: Arc<dyn Invoker>,
    pub(super) options: FeedOptions,
}

impl Delivery {
    /// Delivers a batch until it is applied or lost.
    pub(super) async fn deliver(
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
            InvocationOutcome::GivenUp(failure) => Err(FeedError::BatchFailed {
                function: function.name.clone(),
                attempts: give_up_after.unwrap_or_default(),
                failure,
            }),
        }
    }

    /// Delivers a batch to the second instance, which has no lease and does not retry.
    pub(super) async fn deliver_once(&self, batch: &DocumentBatch) {
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
            Retrying { scale: options.retry_scale, give_up_after },
            &options.console,
            &format!("{count} document{}", if *count == 1 { "" } else { "s" }),
        )
        .await
    }
}
