//! The handler's process, as the host keeps it running.
//!
//! It gets every app setting and the port to listen on, and is ready at the first answer to `GET /`.
//! After a crash it is restarted at once and on the same port, and abandoned after three errors with
//! less than 30 minutes between them. It runs in a process group of its own, which is killed whole at
//! the end.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::console::Console;
use super::settings::Settings;

/// The ports that a handler may get: none of those of outgoing connections (Linux from 32,768 on, others from
/// 49,152), which could take the port before a restart.
const HANDLER_PORTS: Range<u16> = 20_000..32_768;

/// The longest wait for an executable that a build or a copy still writes.
const MAX_BUSY: Duration = Duration::from_secs(5);
const BUSY_DELAY: Duration = Duration::from_millis(20);

/// The program of a handler, and its environment.
#[derive(Debug, Clone)]
pub struct HandlerOptions {
    /// The executable.
    pub executable: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub working_directory: PathBuf,
    /// Its environment variables.
    pub settings: Settings,
    /// A program that becomes the executable, after it asked the system to kill it together with its parent.
    pub launcher: Option<Vec<PathBuf>>,
    /// The time for the first answer to `GET /`; the host waits 30 s.
    pub start_timeout: Duration,
}

/// The reason why the handler does not run, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerError(String);

/// The running handler. Its drop ends it.
#[derive(Debug)]
pub struct HandlerProcess {
    watch: HandlerWatch,
    supervisor: AbortOnDropHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kill {
    /// An invocation took longer than `functionTimeout`.
    TimedOut,
    /// A fault of chaos or of a test, no error of the handler.
    OnPurpose,
    /// Its executable was replaced. It may finish the requests in flight first.
    Replaced,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HandlerState {
    /// It was started and does not answer yet.
    Starting,
    /// It answers at this URL.
    Ready(String),
    /// It is not restarted.
    Failed(HandlerError),
}

const MAX_ERRORS: usize = 3;
/// An error counts together with the one before if less time is between them.
const ERROR_INTERVAL: Duration = Duration::from_mins(30);
const READY_INTERVAL: Duration = Duration::from_millis(25);
/// The time in which a replaced handler has to finish the requests in flight.
const REPLACE_GRACE: Duration = Duration::from_secs(10);
const INTENDED_RESTART: i32 = 200;

impl HandlerProcess {
    /// Starts the handler and keeps it running; does not wait until it is ready.
    pub fn start(options: HandlerOptions, console: Console) -> Self {
        let (sender, state) = watch::channel(HandlerState::Starting);
        let (kill, killed) = mpsc::channel(1);
        let supervisor = tokio::spawn(async move {
            let mut supervisor = Supervisor { options, console, state: sender, killed };
            let Err(error) = supervisor.supervise().await;
            supervisor.state.send_replace(HandlerState::Failed(error));
        });
        let watch = HandlerWatch { state, kill };
        Self { watch, supervisor: AbortOnDropHandle::new(supervisor) }
    }

    /// Returns a view of the handler's state that outlives this value.
    pub fn watch(&self) -> HandlerWatch {
        self.watch.clone()
    }

    /// Kills the handler and all its children, as the host does, without a signal to end by itself.
    pub async fn stop(self) {
        self.supervisor.abort();
        // An aborted task has dropped the child, which kills its group.
        let _ = self.supervisor.await;
    }
}

/// A view of the handler's state.
#[derive(Debug, Clone)]
pub struct HandlerWatch {
    state: watch::Receiver<HandlerState>,
    kill: mpsc::Sender<Kill>,
}

impl HandlerWatch {
    /// Returns the handler's URL, as soon as it is ready.
    ///
    /// # Errors
    /// If it has failed for good.
    pub async fn url(&self) -> Result<String, HandlerError> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| *state != HandlerState::Starting).await;
        match settled.as_deref() {
            Ok(HandlerState::Ready(url)) => Ok(url.clone()),
            Ok(HandlerState::Failed(error)) => Err(error.clone()),
            _ => Err(ended()),
        }
    }

    /// Waits until the handler has failed for good.
    pub async fn failed(&self) -> HandlerError {
        let mut state = self.state.clone();
        let _ = state.wait_for(|state| matches!(state, HandlerState::Failed(_))).await;
        self.url().await.err().unwrap_or_else(ended)
    }

    /// Kills the process, which is restarted. Three such errors stop the host.
    pub fn kill(&self) {
        // A kill under way is enough.
        let _ = self.kill.try_send(Kill::TimedOut);
    }

    /// Kills the process on purpose, any number of times.
    pub fn crash(&self) {
        let _ = self.kill.try_send(Kill::OnPurpose);
    }

    /// Starts the executable again after its file was replaced, and returns the URL when the new process is
    /// ready. Requests in flight are finished first.
    ///
    /// # Errors
    /// When the handler failed for good.
    pub async fn replace(&self) -> Result<String, HandlerError> {
        let mut state = self.state.clone();
        state.mark_unchanged();
        // After the supervisor's end there is no receiver.
        if self.kill.send(Kill::Replaced).await.is_ok() {
            let _ = state.changed().await;
        }
        self.url().await
    }
}

struct Supervisor {
    options: HandlerOptions,
    console: Console,
    state: watch::Sender<HandlerState>,
    killed: mpsc::Receiver<Kill>,
}

impl Supervisor {
    /// Keeps the handler running. Ends only with an error.
    async fn supervise(&mut self) -> Result<Infallible, HandlerError> {
        let port = free_port().map_err(|error| {
            HandlerError(format!("there is no free port for the handler: {error}"))
        })?;
        let mut errors = Vec::new();
        loop {
            let fault = self.run_once(port).await?;
            self.state.send_replace(HandlerState::Starting);
            let Some(fault) = fault else { continue };
            if errors.last().is_some_and(|last: &Instant| last.elapsed() >= ERROR_INTERVAL) {
                errors.clear();
            }
            errors.push(Instant::now());
            if errors.len() >= MAX_ERRORS {
                return Err(HandlerError(format!(
                    "the handler failed three times with less than 30 minutes between, so the host \
                     stops: the last time it {fault}"
                )));
            }
            self.console.error(&format!("The handler {fault}; starting it again"));
        }
    }

    /// Runs the handler to its end. Returns its fault, if it ended by one.
    async fn run_once(&mut self, port: u16) -> Result<Option<String>, HandlerError> {
        let mut group = ProcessGroup::spawn(&self.options, port, &self.console).await?;
        let url = format!("http://127.0.0.1:{port}");
        let timeout = self.options.start_timeout;
        tokio::select! {
            status = group.child.wait() => return self.exited(status),
            ready = tokio::time::timeout(timeout, wait_for_answer(&url)) => if ready.is_err() {
                let seconds = timeout.as_secs_f32();
                return Ok(Some(format!("did not answer GET / within {seconds} s")));
            },
        }
        self.state.send_replace(HandlerState::Ready(url));
        let kill = tokio::select! {
            status = group.child.wait() => return self.exited(status),
            Some(kill) = self.killed.recv() => kill,
        };
        match kill {
            Kill::TimedOut => return Ok(Some("was killed after functionTimeout".to_owned())),
            Kill::OnPurpose => {
                self.console.info("The handler was killed on purpose; starting it again");
            }
            Kill::Replaced => {
                // New requests wait from here on.
                self.state.send_replace(HandlerState::Starting);
                group.ask_to_end();
                // A handler that does not end by itself is killed with its group.
                let _ = tokio::time::timeout(REPLACE_GRACE, group.child.wait()).await;
            }
        }
        Ok(None)
    }

    fn exited(&self, status: io::Result<ExitStatus>) -> Result<Option<String>, HandlerError> {
        match status {
            Ok(status) if status.success() => Err(ended()),
            Ok(status) if status.code() == Some(INTENDED_RESTART) => {
                self.console.info("The handler asked to be started again (exit code 200)");
                Ok(None)
            }
            Ok(status) => Ok(Some(format!("ended with {status}"))),
            Err(error) => Err(HandlerError(format!("the handler cannot be waited for: {error}"))),
        }
    }
}

/// A child with its own process group, which is killed whole on drop.
struct ProcessGroup {
    child: Child,
    id: Option<u32>,
}

impl ProcessGroup {
    async fn spawn(
        options: &HandlerOptions,
        port: u16,
        console: &Console,
    ) -> Result<Self, HandlerError> {
        let mut words = options.launcher.clone().unwrap_or_default();
        words.push(options.executable.clone());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(&options.arguments)
            .current_dir(&options.working_directory)
            // As Core Tools do; a setting of the app wins.
            .env("AZURE_FUNCTIONS_ENVIRONMENT", "Development")
            .envs(options.settings.iter())
            .env("FUNCTIONS_CUSTOMHANDLER_PORT", port.to_string())
            .env("FUNCTIONS_HTTPWORKER_PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let deadline = Instant::now() + MAX_BUSY;
        let mut child = loop {
            match command.spawn() {
                Err(error)
                    if error.kind() == ErrorKind::ExecutableFileBusy
                        && Instant::now() < deadline =>
                {
                    tokio::time::sleep(BUSY_DELAY).await;
                }
                spawned => {
                    break spawned.map_err(|error| {
                        let name = options.executable.display();
                        HandlerError(format!("the handler {name} cannot be started: {error}"))
                    })?;
                }
            }
        };
        let id = child.id();
        if let Some(stdout) = child.stdout.take() {
            forward(stdout, console.clone(), Console::handler);
        }
        if let Some(stderr) = child.stderr.take() {
            forward(stderr, console.clone(), |console, line| {
                let is_warning = line.to_ascii_lowercase().contains("warn");
                let print = if is_warning { Console::warn } else { Console::error };
                print(console, &format!("handler ! {line}"));
            });
        }
        Ok(Self { child, id })
    }

    /// Asks the handler to finish its requests in flight and to end. On systems without signals it ends
    /// at once.
    fn ask_to_end(&mut self) {
        #[cfg(unix)]
        if let Some(process) = self.process() {
            // It fails only if the process has ended.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
    }

    #[cfg(unix)]
    fn process(&self) -> Option<rustix::process::Pid> {
        self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.process() {
            // It fails only if the group has no process.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        // Other systems have no groups: this ends the handler alone.
        let _ = self.child.start_kill();
        // The process ends at once. It is reaped here, so that it leaves no entry in the process table.
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn ended() -> HandlerError {
    let text = "the handler ended with exit code 0, after which the host does not start it again";
    HandlerError(text.to_owned())
}

fn forward(
    stream: impl AsyncRead + Unpin + Send + 'static,
    console: Console,
    print: impl Fn(&Console, &str) + Send + 'static,
) {
    tokio::spawn(async move {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            print(&console, String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    });
}

async fn wait_for_answer(url: &str) {
    let client = super::invoke::handler_client();
    while let Ok(uri) = url.parse() {
        if client.get(uri).await.is_ok() {
            return;
        }
        tokio::time::sleep(READY_INTERVAL).await;
    }
}

/// Returns a free port, the first one from a random one on.
fn free_port() -> io::Result<u16> {
    let offset = Uuid::new_v4().as_u128() % HANDLER_PORTS.len() as u128;
    let random = HANDLER_PORTS.start + u16::try_from(offset).unwrap_or_default();
    let bind = |port: u16| TcpListener::bind(("127.0.0.1", port));
    let mut ports = (random..HANDLER_PORTS.end).chain(HANDLER_PORTS.start..random);
    match ports.find(|port| bind(*port).is_ok()) {
        Some(port) => Ok(port),
        // All are in use: the system chooses one.
        None => Ok(bind(0)?.local_addr()?.port()),
    }
}
