//! The host's port, which answers HTTP/1.0 too with a status line of HTTP/1.1.
//!
//! Kestrel answers so. hyper answers in the version of the request, and always writes the status line
//! first. The connection of such a request is closed after its answer, so each connection has at most
//! one such line, and it is the first.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

const HTTP_1_0: &[u8] = b"HTTP/1.0";
const HTTP_1_1: &[u8] = b"HTTP/1.1";

/// A listener whose connections answer in HTTP/1.1.
pub(super) struct HostListener(pub(super) TcpListener);

impl Listener for HostListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (Connection { stream, version: FirstVersion::Unknown }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection that replaces the version of its first answer.
pub(super) struct Connection {
    stream: TcpStream,
    version: FirstVersion,
}

/// The state of the first answer's version.
#[derive(Clone, Copy)]
enum FirstVersion {
    /// No byte was written yet.
    Unknown,
    /// The version is replaced, and this number of its bytes was written.
    Replaced(usize),
    /// It was written.
    Written,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let FirstVersion::Unknown = self.version {
            let is_old = bytes.starts_with(HTTP_1_0);
            self.version = if is_old { FirstVersion::Replaced(0) } else { FirstVersion::Written };
        }
        let FirstVersion::Replaced(n_written) = self.version else {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        };
        let rest = HTTP_1_1.get(n_written..).unwrap_or_default();
        let n_more = ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
        let n_written = n_written + n_more;
        let is_done = n_written == HTTP_1_1.len();
        self.version =
            if is_done { FirstVersion::Written } else { FirstVersion::Replaced(n_written) };
        Poll::Ready(Ok(n_more))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
