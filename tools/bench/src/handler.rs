//! The handler's process, started as the Functions host starts it.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use http::HeaderName;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};
use tributary_local::{
    client::{Call, Client, Reply},
    host::BuiltApp,
};

use crate::process::Process;

/// The shortest time that is measured here; Tokio's timer has the same resolution.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

const LINE_DEADLINE: Duration = Duration::from_secs(20);

/// The time that a line of the log may take from the handler to this process.
pub(crate) const LOG_DELAY: Duration = Duration::from_millis(200);

const INVOCATION: HeaderName = HeaderName::from_static("x-azure-functions-invocationid");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// A trace in the host's form; it adds two fields to each log line.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

pub(crate) struct MeasuredHandler {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) connection: Connection,
    lines: UnboundedReceiver<Vec<u8>>,
}

/// It opens at the first request, and is kept open as by the Functions host.
pub(crate) struct Connection(Client);

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self(Client::new(&format!("http://{address}"))?))
    }

    pub(crate) async fn send(&self, call: &Call, id: &str) -> anyhow::Result<Reply> {
        let call = call.clone().header(INVOCATION, id).header(TRACE_PARENT, TRACE);
        self.0.send(&call).await
    }
}

impl MeasuredHandler {
    /// Starts the handler with the app's settings, a port, and its log as in Azure: JSON at level info,
    /// into a pipe that is read.
    pub(crate) fn start(app: &BuiltApp, executable: &Path) -> anyhow::Result<Self> {
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
        let (sender, lines) = unbounded_channel();
        tokio::spawn(async move {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                // Without a receiver the log is only read.
                let _ = sender.send(std::mem::take(&mut line));
            }
        });
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let connection = Connection::new(address)?;
        Ok(Self { child, address, process: Process(id), connection, lines })
    }

    pub(crate) async fn ready_on(app: &BuiltApp) -> anyhow::Result<Self> {
        let mut handler = Self::start(app, &app.executable())?;
        handler.ready().await?;
        Ok(handler)
    }

    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        loop {
            if self.connection.send(&Call::get("/"), "probe").await.is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the handler ended before it was ready: {status}");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub(crate) fn forget_lines(&mut self) {
        self.lines.close();
    }

    /// The store's requests and the request units by the lines of the log so far, which are dropped.
    pub(crate) fn costs(&mut self) -> [f64; 2] {
        let lines = std::iter::from_fn(|| self.lines.try_recv().ok());
        let lines = lines.filter_map(|line| serde_json::from_slice(&line).ok());
        // The other lines with figures have them of several invocations.
        let lines = lines.filter(|line: &Value| {
            let message = line["message"].as_str();
            matches!(message, Some("Answered a request" | "Applied a batch of changes"))
        });
        lines.fold([0.0; 2], |[requests, request_units], line| {
            let figure = |name: &str| line[name].as_f64().unwrap_or_default();
            [requests + figure("store.requests"), request_units + figure("request_charge_ru")]
        })
    }

    pub(crate) async fn line(
        &mut self,
        message: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let line = async {
            loop {
                let line = self.lines.recv().await.context("the handler has ended")?;
                let line: Value = serde_json::from_slice(&line).unwrap_or_default();
                if line["message"] == message && is_wanted(&line) {
                    return Ok(line);
                }
            }
        };
        timeout(LINE_DEADLINE, line).await.with_context(|| format!("no line says {message:?}"))?
    }

    pub(crate) async fn answered(&mut self, id: &str) -> anyhow::Result<Value> {
        self.line("Answered a request", |line| line["invocation.id"] == id).await
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
