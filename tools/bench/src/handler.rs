//! The handler's process, started as the Functions host starts it.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};
use tributary_local::client::Call;
use tributary_local::host::BuiltApp;

use crate::{http::Connection, process::Process};

/// The shortest time that is measured here; Tokio's timer has the same resolution.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A handler without a host; killed on drop.
pub(crate) struct MeasuredHandler {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
}

impl MeasuredHandler {
    /// Starts the handler with the app's settings, a port, and its log as in Azure: JSON at level info,
    /// into a pipe that is read.
    pub(crate) fn start(
        app: &BuiltApp,
        executable: &Path,
        mut on_line: impl FnMut(&[u8]) + Send + 'static,
    ) -> anyhow::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut child = Command::new(executable)
            .current_dir(&app.root)
            .envs(app.settings.iter())
            .env("FUNCTIONS_CUSTOMHANDLER_PORT", port.to_string())
            .env("Log__Format", "json")
            .env("RUST_LOG", "")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("the handler {} cannot be started", executable.display()))?;
        let id = child.id().context("the handler ended at once")?;
        let stdout = child.stdout.take().context("the handler has no output")?;
        tokio::spawn(async move {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                on_line(&line);
                line.clear();
            }
        });
        let address = (Ipv4Addr::LOCALHOST, port).into();
        Ok(Self { child, address, process: Process(id) })
    }

    /// Waits until `GET /` is answered, and returns the connection.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<Connection> {
        let connection = Connection::new(self.address)?;
        loop {
            if connection.send(&Call::get("/"), "probe").await.is_ok() {
                return Ok(connection);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the handler ended before it was ready: {status}");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends the handler, and waits for its end.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
