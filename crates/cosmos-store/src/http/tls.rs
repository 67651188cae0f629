//! TLS with a certificate that the store makes for itself, since the SDK for Java takes nothing else.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::serve::Listener;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Options;

/// The time that a client has to begin a connection.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The encryption of ports.
pub(super) struct Tls {
    acceptor: TlsAcceptor,
    /// In PEM.
    pub(super) certificate: String,
}

type Connection = (TlsStream<TcpStream>, SocketAddr);

/// A port whose connections are encrypted.
pub(super) struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    /// The begins of connections under way: a slow client holds up no other.
    handshakes: FuturesUnordered<BoxFuture<'static, Option<Connection>>>,
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
    pub(super) fn listener(&self, listener: TcpListener) -> TlsListener {
        let handshakes = FuturesUnordered::new();
        TlsListener { listener, acceptor: self.acceptor.clone(), handshakes }
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Connection {
        loop {
            tokio::select! {
                (stream, peer) = Listener::accept(&mut self.listener) => {
                    let handshake = begin(self.acceptor.clone(), stream, peer);
                    self.handshakes.push(handshake.boxed());
                }
                Some(connection) = self.handshakes.next() => {
                    if let Some(connection) = connection {
                        return connection;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn begin(acceptor: TlsAcceptor, stream: TcpStream, peer: SocketAddr) -> Option<Connection> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => return Some((stream, peer)),
        Ok(Err(error)) => tracing::debug!(%error, "a client does not trust the store"),
        Err(_) => tracing::debug!("a client did not begin a connection in time"),
    }
    None
}
