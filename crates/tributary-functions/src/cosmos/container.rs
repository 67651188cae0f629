//! The reads and writes of a container. The calls of the SDK are in functions without a type parameter that
//! return a boxed future, so that its code is compiled once, and not again for each type of item.

use std::{iter, sync::Arc};

use azure_core::http::Etag;
use azure_data_cosmos::{
    CosmosError, SubStatusCode,
    clients::ContainerClient,
    models::TransactionalBatchOperationResult,
    options::{
        BatchOptions, ItemReadOptions, ItemWriteOptions, OperationOptions, PriorityLevel,
        ReadConsistencyStrategy, SessionToken, ThroughputControlOptionsBuilder,
    },
};
use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::{
    Cosmos, ETag, JsonText, Refusal, StoreError, Stored, Transaction,
    budget::check_request_budget,
    meter::{metered, timed, timed_sync},
    retry::{decides_on_latest, note_session_read, note_write},
    session::{capture, capture_none},
    transaction::if_match,
};
use crate::telemetry::{self, Cost};

/// The SDK's own sub-status of a read whose session no replica has.
const SESSION_UNAVAILABLE: SubStatusCode = SubStatusCode::new(20310);

/// A container, looked up in the account on first use. Cloning is cheap.
#[derive(Clone)]
pub struct Container {
    pub(super) cosmos: Arc<Cosmos>,
    id: &'static str,
    client: Arc<OnceCell<ContainerClient>>,
    pub(super) identity: Arc<OnceCell<FeedIdentity>>,
    pub(super) options: Arc<OperationOptions>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedIdentity {
    pub host: String,
    pub rid: String,
}

enum ItemWrite<'a> {
    Create,
    Replace(&'a ETag),
    Upsert,
}

impl Cosmos {
    /// Returns a container of the database. It is looked up on first use.
    pub fn container(self: &Arc<Self>, id: &'static str) -> Container {
        Container {
            cosmos: Arc::clone(self),
            id,
            client: Arc::default(),
            identity: Arc::default(),
            options: Arc::default(),
        }
    }
}

impl Container {
    /// Returns the container's id.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns the container for work in the background. An account with priority-based execution refuses its
    /// requests before others: <https://learn.microsoft.com/azure/cosmos-db/priority-based-execution>.
    pub fn in_background(&self) -> Self {
        let low =
            ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low).build();
        let mut options = (*self.options).clone();
        options.throughput_control = Some(low);
        Self { options: options.into(), ..self.clone() }
    }

    /// Returns the container whose reads return the latest committed state, at twice the request units. Without it a
    /// read returns at least what this instance has written or read.
    pub fn latest_committed(&self) -> Self {
        let mut options = (*self.options).clone();
        options.read_consistency_strategy = Some(ReadConsistencyStrategy::LatestCommitted);
        Self { options: options.into(), ..self.clone() }
    }

    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        self.client().await.map(drop)
    }

    /// Reads one item by its id (1 request unit for 1 KB); `None` when there is none.
    pub async fn read<T: DeserializeOwned>(
        &self,
        partition_key: &str,
        id: &str,
    ) -> Result<Option<Stored<T>>, StoreError> {
        let read = self.read_text(partition_key, id).await?;
        read.map(|(tag, text)| Stored::read(tag, text)).transpose()
    }

    fn read_text<'a>(
        &'a self,
        partition_key: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Etag, JsonText)>, StoreError>> {
        Box::pin(async move {
            let client = self.client().await?;
            let (operation, token) = self.read_options();
            let mut options = ItemReadOptions::default().with_operation_options(operation);
            options.session_token = token;
            let call = client.read_item(partition_key.to_owned(), id, Some(options));
            match self.measured_in_partition(partition_key, call).await {
                Ok(response) => {
                    let tag = required_etag(response.headers().etag())?;
                    let text = timed_sync(|| response.into_body().into_single());
                    Ok(Some((tag, text.map_err(StoreError::from_read)?)))
                }
                Err(error) if self.lacks_position(&error) => {
                    self.latest_committed().read_text(partition_key, id).await
                }
                Err(error) if error.status().is_not_found() => Ok(None),
                Err(error) => Err(StoreError::from_read(error)),
            }
        })
    }

    /// Creates an item; `Conflict` when there is one with its id.
    pub async fn create<T: Serialize + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
    ) -> Result<ETag, StoreError> {
        let tag = self.write(partition_key, id, item, ItemWrite::Create).await?;
        Ok(ETag::from(tag))
    }

    /// Replaces an item; `PreconditionFailed` if it has changed since `etag`, `NotFound` if it is gone. It keeps the
    /// properties that a `T` does not know: see [`ETag`].
    pub async fn replace<T: Serialize + DeserializeOwned + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
        etag: &ETag,
    ) -> Result<ETag, StoreError> {
        self.write_over(partition_key, id, item, (etag, ItemWrite::Replace(etag))).await
    }

    /// Creates an item, or replaces it when it has not changed since `etag` was read.
    pub async fn put<T: Serialize + DeserializeOwned + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
        etag: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        match etag {
            Some(etag) => self.replace(partition_key, id, item, etag).await,
            None => self.create(partition_key, id, item).await,
        }
    }

    pub(crate) async fn create_moved<T: Serialize + DeserializeOwned + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
        from: &ETag,
    ) -> Result<ETag, StoreError> {
        self.write_over(partition_key, id, item, (from, ItemWrite::Create)).await
    }

    async fn write_over<T: Serialize + DeserializeOwned + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
        (state, write): (&ETag, ItemWrite<'_>),
    ) -> Result<ETag, StoreError> {
        let complete = timed_sync(|| state.completed(item))?;
        let sent: &(dyn erased_serde::Serialize + Sync) = match &complete {
            Some(complete) => complete.as_ref(),
            None => item,
        };
        let tag = self.write(partition_key, id, sent, write).await?;
        Ok(ETag::of_write(tag, complete.as_deref()))
    }

    /// Creates or replaces an item, whatever is there.
    pub async fn upsert<T: Serialize + Sync>(
        &self,
        partition_key: &str,
        id: &str,
        item: &T,
    ) -> Result<(), StoreError> {
        self.write(partition_key, id, item, ItemWrite::Upsert).await.map(drop)
    }

    fn write<'a>(
        &'a self,
        partition_key: &'a str,
        id: &'a str,
        item: &'a (dyn erased_serde::Serialize + Sync),
        write: ItemWrite<'a>,
    ) -> BoxFuture<'a, Result<Etag, StoreError>> {
        Box::pin(async move {
            let client = self.client().await?;
            let options = self.write_options();
            let key = partition_key.to_owned();
            let call = match write {
                ItemWrite::Create => client.create_item(key, id, item, Some(options)).boxed(),
                ItemWrite::Upsert => client.upsert_item(key, id, item, Some(options)).boxed(),
                ItemWrite::Replace(etag) => {
                    let unchanged = options.with_precondition(if_match(etag));
                    client.replace_item(key, id, item, Some(unchanged)).boxed()
                }
            };
            let response = self.measured_in_partition(partition_key, call).await;
            match &response {
                Ok(_) => capture(self.id, iter::once_with(|| serde_json::to_string(item))),
                Err(_) => capture_none(self.id),
            }
            required_etag(response?.headers().etag())
        })
    }

    /// Deletes an item that has not changed since `etag`.
    pub fn delete<'a>(
        &'a self,
        partition_key: &'a str,
        id: &'a str,
        etag: &'a ETag,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let unchanged = self.write_options().with_precondition(if_match(etag));
            let client = self.client().await?;
            let call = client.delete_item(partition_key.to_owned(), id, Some(unchanged));
            self.measured_in_partition(partition_key, call).await?;
            Ok(())
        })
    }

    /// Carries out all writes of a transaction or none, and returns the new ETags in order; a delete has none.
    pub fn transact(
        &self,
        transaction: Transaction,
    ) -> BoxFuture<'_, Result<Vec<Option<ETag>>, Refusal>> {
        Box::pin(async move {
            let whole = |error: StoreError| Refusal { operation: None, error };
            let client = self.client().await.map_err(whole)?;
            note_write();
            let options = BatchOptions::default().with_operation_options((*self.options).clone());
            let Transaction { partition, batch, states, documents, .. } = transaction;
            let call = client.execute_transactional_batch(batch, Some(options));
            let sent = self.measured_in_partition(&partition, async {
                let response = call.await?;
                let diagnostics = response.diagnostics();
                response.into_model().map(|response| (response, diagnostics))
            });
            let sent = sent.await.inspect_err(|_| capture_none(self.id));
            let (response, diagnostics) = sent.map_err(|error| whole(error.into()))?;
            // The operation that failed has its own status in the response. All others have 424.
            let results = response.results();
            let has_failed = |result: &TransactionalBatchOperationResult| {
                !result.is_success() && result.status_code() != 424
            };
            if let Some(operation) = results.iter().position(has_failed) {
                let status =
                    (results[operation].status_code(), results[operation].substatus_code());
                let error = StoreError::from_status(status, &diagnostics);
                return Err(Refusal { operation: Some(operation), error });
            }
            capture(self.id, documents);
            let results = results.iter().zip(states);
            let etag =
                |(result, state): (&TransactionalBatchOperationResult, Option<Arc<Value>>)| {
                    let tag = result.etag()?;
                    Some(ETag::of_write(Etag::from(tag.to_owned()), state.as_deref()))
                };
            Ok(results.map(etag).collect())
        })
    }

    fn measured_in_partition<'a, F: Future + Send + 'a>(
        &self,
        partition: &'a str,
        call: F,
    ) -> impl Future<Output = F::Output> + 'a {
        measured(self.id, Some(partition), false, timed(call))
    }

    pub(super) fn read_options(&self) -> (OperationOptions, Option<SessionToken>) {
        let mut options = (*self.options).clone();
        if decides_on_latest() {
            options.read_consistency_strategy = Some(ReadConsistencyStrategy::LatestCommitted);
        }
        // The latest committed state has all positions.
        let is_session = options.read_consistency_strategy.is_none();
        if is_session {
            note_session_read();
        }
        let token = is_session.then(|| self.cosmos.session.token(self.id)).flatten();
        (options, token)
    }

    pub(super) fn lacks_position(&self, error: &CosmosError) -> bool {
        let status = error.status();
        // The client answers so after its own retries.
        let is_behind = status.sub_status() == Some(SESSION_UNAVAILABLE);
        (is_behind || status.is_read_session_not_available()) && self.read_options().1.is_some()
    }

    fn write_options(&self) -> ItemWriteOptions {
        note_write();
        ItemWriteOptions::default().with_operation_options((*self.options).clone())
    }

    pub(super) async fn client(&self) -> Result<&ContainerClient, StoreError> {
        check_request_budget()?;
        self.client.get_or_try_init(|| self.cosmos.container_client(self.id).boxed()).await
    }
}

pub(super) async fn measured<F: Future>(
    container: &'static str,
    partition: Option<&str>,
    begins_query: bool,
    call: F,
) -> F::Output {
    let (output, meter) = metered(call).await;
    telemetry::note_use(container, partition, begins_query, Cost::from(&*meter));
    output
}

fn required_etag(etag: Option<&Etag>) -> Result<Etag, StoreError> {
    etag.cloned().ok_or_else(StoreError::unexpected)
}
