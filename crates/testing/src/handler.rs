//! The handler as a process of its own, without a host: what it is sent and what it writes.

use std::{
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Bytes;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tributary_local::{
    client::{Call, Client},
    cosmos::RunningServer,
    host::Settings,
};

use crate::{Answer, AppUnderTest, World};

const DEADLINE: Duration = Duration::from_secs(30);

/// A handler on the account of a world; killed when dropped.
pub struct Handler {
    child: Child,
    url: String,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
    client: Client,
    _store: RunningServer,
}

impl Handler {
    /// Starts the executable of an app, `env!("CARGO_BIN_EXE_<name>")` in its tests, with these settings
    /// besides those of the store and of `local.settings.json.example`.
    pub async fn start<A: AppUnderTest>(
        executable: &str,
        world: &World<A>,
        settings: &[(&str, &str)],
    ) -> Self {
        let store = world.endpoint.serve(0).await.unwrap();
        let file = Path::new(A::ROOT).join("local.settings.json.example");
        let local = Settings::read(&file).unwrap();
        let mut child = Command::new(executable)
            .env_clear()
            .envs(local.iter())
            .env("CosmosConnection", store.connection_string())
            .env("CosmosDatabase", World::<A>::DATABASE)
            .env("FUNCTIONS_CUSTOMHANDLER_PORT", "0")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = Arc::default();
        let out = keep(child.stdout.take().unwrap(), &lines);
        let readers = vec![out, keep(child.stderr.take().unwrap(), &lines)];
        let client = Client::new("").unwrap();
        let mut handler = Self { child, url: String::new(), lines, readers, client, _store: store };
        let ready = handler.line("ready for the Functions host").await;
        handler.url = format!("http://{}", ready["server.address"].as_str().unwrap());
        handler
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Sends a request.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.try_send(method, path, headers, body).await.unwrap()
    }

    /// As [`Self::send`], where the answer may come before all of the body was taken, which ends the
    /// connection.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Option<Answer> {
        send(&self.client, method, &format!("{}{path}", self.url), headers, body).await
    }

    /// Everything that was written so far.
    pub fn output(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for a line that has this text, and reads it.
    pub async fn line(&self, text: &str) -> Value {
        wait_for(|| {
            let lines = self.lines.lock().unwrap();
            let line = lines.iter().find(|line| line.contains(text))?;
            Some(serde_json::from_str(line).unwrap())
        })
        .await
        .unwrap_or_else(|| panic!("no line with {text:?}:\n{}", self.output().join("\n")))
    }

    /// Asks it to end, and waits until it has and all its lines are read.
    pub async fn terminate(&mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        // With this status it asks the host to start it again.
        assert_eq!(self.child.wait().await.unwrap().code(), Some(200));
        for reader in self.readers.drain(..) {
            reader.await.unwrap();
        }
    }
}

/// Sends a request to a URL. `None` if the connection ends before the whole answer.
pub async fn send(
    client: &Client,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Option<Answer> {
    let with =
        |call: Call, (name, value): &(&str, &str)| call.header(name.parse().unwrap(), *value);
    let call = headers.iter().fold(Call::new(method.parse().unwrap(), url), with);
    let reply = client.send(&Call { body: Some(body.into()), ..call }).await.ok()?;
    Some(Answer { status: reply.status, text: reply.text(), headers: reply.headers })
}

/// The first `Some` within the deadline.
pub async fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let seen = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, seen).await.ok()
}

fn keep(
    stream: impl AsyncRead + Unpin + Send + 'static,
    lines: &Arc<Mutex<Vec<String>>>,
) -> JoinHandle<()> {
    let kept = Arc::clone(lines);
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            kept.lock().unwrap().push(line);
        }
    })
}
