//! Access to the store through a socket: HTTP/1.1 and HTTP/2 on the loopback interface.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt;
use azure_data_cosmos::{AccountEndpoint, AccountReference};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

use super::{EndpointError, WELL_KNOWN_KEY, gateway, store::EndpointStore};

/// The time that requests under way have to end when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningServer {
    /// Returns the account endpoint, such as `http://127.0.0.1:8081/`.
    pub fn url(&self) -> String {
        url_of(self.address)
    }

    /// Returns the connection string for the setting of a Functions trigger or an SDK.
    pub fn connection_string(&self) -> String {
        format!("AccountEndpoint={};AccountKey={WELL_KNOWN_KEY};", self.url())
    }

    /// Returns the address and key for a Rust client that connects over the socket.
    ///
    /// # Errors
    ///
    /// Never for the addresses that this server listens on.
    pub fn account(&self) -> Result<AccountReference, EndpointError> {
        let url: AccountEndpoint = self.url().parse().map_err(|error| {
            EndpointError::Option(format!("{} is no account endpoint: {error}", self.url()))
        })?;
        Ok(AccountReference::with_authentication_key(url, WELL_KNOWN_KEY))
    }

    /// Stops listening, gives requests under way two seconds to end, and closes the connections.
    pub async fn stop(self) {
        let Self { shutdown, mut task, .. } = self;
        drop(shutdown);
        if timeout(STOP_GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

pub(super) async fn serve(
    store: Arc<EndpointStore>,
    port: u16,
) -> Result<RunningServer, EndpointError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|source| {
        match source.kind() {
            io::ErrorKind::AddrInUse => EndpointError::PortInUse { port },
            _ => EndpointError::Listen { port, source },
        }
    })?;
    let address = listener.local_addr().map_err(|source| EndpointError::Listen { port, source })?;
    // Small answers would otherwise wait for the client's delayed acknowledgement.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
    });

    let app = gateway::router(store, url_of(address));
    let (shutdown, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let served = axum::serve(listener, app)
            .with_graceful_shutdown(async move {
                // The sender is never used, only dropped.
                let _ = stopped.await;
            })
            .await;
        if let Err(error) = served {
            tracing::error!(%error, "the Cosmos DB endpoint stopped");
        }
    });
    Ok(RunningServer { address, shutdown, task })
}

fn url_of(address: SocketAddr) -> String {
    format!("http://{address}/")
}
