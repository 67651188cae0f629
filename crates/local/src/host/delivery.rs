//! From documents to invocations.

use std::sync::Arc;

use super::disturbance::Crashing;
use super::feed_error::FeedError;
use super::feed_options::FeedOptions;
use super::function::Function;
use super::invoke::{self, Invoker, Outcome, Retrying};
use super::wire;

/// Documents as the trigger has read them.
pub(super) struct Batch {
    /// Their text.
    pub page: String,
    /// How many they are.
    pub count: usize,
}

/// The way of a function's batches to its handler.
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
        batch: &Batch,
        give_up_after: Option<i64>,
    ) -> Result<usize, FeedError> {
        let Self { function, options, .. } = self;
        let count = batch.count;
        match self.invoke(self.invoker.as_ref(), batch, give_up_after).await {
            Outcome::Succeeded => Ok(count),
            Outcome::Failed(failure) => {
                options.console.error(&format!(
                    "LOST: {count} changes for {}: {failure}. No retry is left, so the host \
                     checkpoints and goes on; give function.json a retry with maxRetryCount -1",
                    function.name
                ));
                Ok(0)
            }
            Outcome::GivenUp(failure) => Err(FeedError::BatchFailed {
                function: function.name.clone(),
                attempts: give_up_after.unwrap_or_default(),
                failure,
            }),
        }
    }

    /// Delivers a batch to the second instance, which has no lease and does not try again.
    pub(super) async fn deliver_once(&self, batch: &Batch) {
        let second = self.options.second_invoker.as_ref().unwrap_or(&self.invoker);
        self.invoke(second.as_ref(), batch, Some(1)).await;
    }

    async fn invoke(
        &self,
        invoker: &dyn Invoker,
        batch: &Batch,
        give_up_after: Option<i64>,
    ) -> Outcome {
        let Self { function, options, .. } = self;
        let crashing = options.chaos.as_ref().map(|chaos| Crashing { invoker, chaos });
        let Batch { page, count } = batch;
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
