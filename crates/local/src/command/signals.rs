//! The signals that end `cargo local`.

/// Waits for Ctrl-C, or for another signal that asks a program to end.
#[cfg(unix)]
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
