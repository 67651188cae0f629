//! The way into the store for a Rust client in the same process: the SDK's whole pipeline runs,
//! and only the socket is replaced.

use std::sync::Arc;

use async_trait::async_trait;
use azure_core::http::Request;
use azure_data_cosmos::{CosmosRuntime, CosmosRuntimeBuilder};
use azure_data_cosmos_driver::{
    CosmosDriverRuntimeBuilder, CosmosError,
    diagnostics::RequestSentStatus,
    test::{
        ConnectionPoolOptions, HttpClientConfig, HttpClientFactory, HttpRequest, HttpResponse,
        TransportClient, TransportError,
    },
};

use super::store::EndpointStore;

/// Creates a runtime for `CosmosClient::builder().with_runtime(..)` that sends its requests to `store`.
pub(super) async fn runtime(store: Arc<EndpointStore>) -> Result<CosmosRuntime, CosmosError> {
    let driver = CosmosDriverRuntimeBuilder::new()
        .with_mock_http_client_factory(Arc::new(Transport { store }));
    CosmosRuntimeBuilder::from(driver).build().await
}

/// The factory that the SDK asks for, and the one client that it makes.
#[derive(Clone, Debug)]
struct Transport {
    store: Arc<EndpointStore>,
}

impl HttpClientFactory for Transport {
    fn build(
        &self,
        _connection_pool: &ConnectionPoolOptions,
        _config: HttpClientConfig,
    ) -> Result<Arc<dyn TransportClient>, CosmosError> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl TransportClient for Transport {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let mut core = Request::new(request.url.clone(), request.method);
        *core.headers_mut() = request.headers.clone();
        if let Some(body) = &request.body {
            core.set_body(body.clone());
        }
        let response = self
            .store
            .execute(core)
            .await
            .map_err(|error| TransportError::new(error, RequestSentStatus::Unknown))?;
        Ok(HttpResponse {
            status: response.status,
            headers: response.headers,
            body: response.body.to_vec(),
        })
    }
}
