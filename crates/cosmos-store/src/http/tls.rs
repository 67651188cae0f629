//! TLS with a certificate that the store makes for itself, since the SDK for Java takes nothing else.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::serve::Listener;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Options;

/// The time that a client has to begin a connection.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The connections that wait until the server takes them.
const WAITING: usize = 128;

/// The encryption of ports.
pub(super) struct Tls {
    acceptor: TlsAcceptor,
    /// In PEM.
    pub(super) certificate: String,
}

/// A port whose connections are encrypted.
pub(super) struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl Tls {
    /// Returns the encryption of a store's ports, if it has any.
    pub(super) fn of(options: &Options) -> io::Result<Option<Self>> {
        options.https.then(|| Self::new(&options.allowed_hosts)).transpose()
    }

    /// Creates a certificate for this machine and these hosts.
    fn new(hosts: &[String]) -> io::Result<Self> {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let names = own.into_iter().chain(hosts.iter().filter(|host| *host != "*").cloned());
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names.collect::<Vec<_>>()).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key)
            })
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: Arc::new(config).into(), certificate: cert.pem() })
    }

    /// Encrypts the connections of a port.
    pub(super) fn listener(&self, listener: TcpListener) -> io::Result<TlsListener> {
        let address = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(WAITING);
        tokio::spawn(accept(listener, self.acceptor.clone(), sender));
        Ok(TlsListener { address, ready })
    }
}

/// Accepts connections until the server has ended. A slow client holds up no other.
async fn accept(
    mut listener: TcpListener,
    acceptor: TlsAcceptor,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    loop {
        let (stream, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = sender.closed() => return,
        };
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY cannot be set");
            }
            match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                // The server may have ended meanwhile.
                Ok(Ok(stream)) => drop(sender.send((stream, peer)).await),
                Ok(Err(error)) => tracing::debug!(%error, "a client does not trust the store"),
                Err(_) => tracing::debug!("a client did not begin a connection in time"),
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The task above ends only after this.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
