//! The server: a port from the host, a listener, and an end.

use std::env;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::builder::RegistrationError;

/// The environment variable in which the Functions host names the port.
pub const PORT_VARIABLE: &str = "FUNCTIONS_CUSTOMHANDLER_PORT";

/// The time for requests in flight to end after the signal, for developers: the Functions host kills the process.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// The error of an app that cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The variable is missing, since no Functions host has started the process, or holds no port.
    #[error("{0}")]
    Port(String),
    /// The port cannot be listened on.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Bind {
        /// The port in [`PORT_VARIABLE`].
        port: u16,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A function's name or route is wrong.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The listener or the handler of the signals failed.
    #[error("the server failed: {0}")]
    Server(#[from] io::Error),
}

/// The reason for the end of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "its exit code tells the Functions host whether to start the handler again"]
pub enum Shutdown {
    /// Ctrl-C. At a terminal the host receives it too, and ends as well.
    Interrupted,
    /// SIGTERM, to the handler alone: the host itself kills without a signal.
    Terminated,
}

impl Shutdown {
    /// Returns the status with which the process should end: 0 after Ctrl-C, and 200 after SIGTERM, which asks the
    /// host for a new handler and is no crash. After 0 the host would answer every request with 500 from then on.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupted => 0,
            Self::Terminated => RESTART_EXIT_CODE,
        }
    }
}

const RESTART_EXIT_CODE: u8 = 200;

pub(crate) async fn serve(router: Router) -> Result<Shutdown, ServeError> {
    let port = port()?;
    // A signal that comes once the port is open must find its handler.
    let shutdown = shutdown_signal()?;
    // Only the host on the same machine may call: it has checked the keys, which the app does not.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|source| ServeError::Bind { port, source })?;
    tracing::info!(server.address = %listener.local_addr()?, "ready for the Functions host");
    let (ended, end) = oneshot::channel();
    let shutdown = async {
        // The receiver lives until the server has ended.
        let _ = ended.send(shutdown.await);
    };
    serve_on(router, listener, shutdown).await?;
    Ok(end.await.unwrap_or(Shutdown::Interrupted))
}

pub(crate) async fn serve_on(
    router: Router,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (stopping, stopped) = oneshot::channel();
    // Answers are small and the caller waits for each: a delay of segments gains nothing.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
    });
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        shutdown.await;
        // The receiver is gone only when the server has ended already.
        let _ = stopping.send(());
    });
    let grace_is_over = async {
        if stopped.await.is_ok() {
            tokio::time::sleep(SHUTDOWN_GRACE).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        result = server.into_future() => Ok(result?),
        () = grace_is_over => {
            tracing::warn!(
                grace_s = SHUTDOWN_GRACE.as_secs(),
                "stopped with requests still in flight"
            );
            Ok(())
        }
    }
}

fn port() -> Result<u16, ServeError> {
    let Some(text) = env::var_os(PORT_VARIABLE) else {
        return Err(ServeError::Port(format!(
            "the environment variable {PORT_VARIABLE} is not set: start this program with the Functions host \
             (`func start`), or set the variable to a port"
        )));
    };
    let text = text.to_string_lossy();
    text.trim().parse().map_err(|_| {
        ServeError::Port(format!(
            "the environment variable {PORT_VARIABLE} is `{text}`, which is not a port: set it to a number from 0 \
             to 65535"
        ))
    })
}

#[cfg(unix)]
fn shutdown_signal() -> io::Result<impl Future<Output = Shutdown> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => Shutdown::Interrupted,
            _ = terminate.recv() => Shutdown::Terminated,
        }
    })
}

#[cfg(not(unix))]
fn shutdown_signal() -> io::Result<impl Future<Output = Shutdown> + Send + 'static> {
    Ok(async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::warn!(%error, "cannot wait for Ctrl-C");
            std::future::pending::<()>().await;
        }
        Shutdown::Interrupted
    })
}
