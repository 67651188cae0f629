//! A handler as a process of its own: its port, its stdout and its end.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use custom_handler::{CustomHandler, Documents, PORT_VARIABLE, logs};

const DEADLINE: Duration = Duration::from_secs(30);
const ROLE: &str = "CUSTOM_HANDLER_TEST_ROLE";

/// What the other tests start: this binary again, running only this.
#[test]
#[ignore = "the other tests of this module start it"]
fn handler_process() {
    if env::var_os(ROLE).is_none() {
        return;
    }
    logs::init().unwrap();
    let app = CustomHandler::new()
        .http(Router::new().route("/api/hello", get(async || tracing::info!("hello"))))
        .trigger("Changes", async |_: Documents| tracing::info!("a batch"))
        .trigger("Fails", async || Err::<(), _>("the store is away"))
        .trigger("Panics", async || -> () { panic!("on purpose") });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Err(error) = runtime.block_on(app.serve()) {
        println!("{error}");
        std::process::exit(3);
    }
    std::process::exit(0);
}

fn handler() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "process::handler_process", "--ignored", "--nocapture"])
        .env(ROLE, "handler")
        .env_remove(PORT_VARIABLE)
        .env_remove("RUST_LOG")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A handler that is up; killed at the end of the test.
struct Running {
    child: Child,
    stdout: Receiver<String>,
    address: String,
    lines: Vec<String>,
}

impl Running {
    fn start(rust_log: Option<&str>) -> Self {
        let mut command = handler();
        command.env(PORT_VARIABLE, "0");
        if let Some(rust_log) = rust_log {
            command.env("RUST_LOG", rust_log);
        }
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        let mut running = Self { child, stdout: lines, address: String::new(), lines: Vec::new() };
        let ready = running.line_with("server.address=");
        ready.rsplit('=').next().unwrap().clone_into(&mut running.address);
        running
    }

    /// Reads stdout up to the first line with this text.
    fn line_with(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.stdout.recv_timeout(DEADLINE) else {
                panic!("no line with `{text}` in {:?}", self.lines);
            };
            self.lines.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    fn send(&self, method: &str, path: &str, id: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
             X-Azure-Functions-InvocationId: {id}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Everything that was written to stderr, once the handler has ended.
    fn stop(mut self) -> String {
        self.child.kill().unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        stderr
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_listens_on_loopback_only() {
    let running = Running::start(None);
    assert!(running.address.starts_with("127.0.0.1:"), "{}", running.address);
    assert!(running.send("GET", "/", "1", "").starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn lines_go_to_stdout_with_the_id_of_their_invocation() {
    let mut running = Running::start(None);
    running.send("POST", "/Changes", "id-of-batch", r#"{"Data":{"x":[]}}"#);
    let line = running.line_with("a batch");
    assert!(
        line.contains(r#"invocation{function="Changes" invocation.id="id-of-batch"}"#),
        "{line}"
    );
    running.send("GET", "/api/hello?code=key", "id-of-request", "");
    let line = running.line_with("hello");
    assert!(line.contains(r#"invocation.id="id-of-request""#), "{line}");
    assert!(!running.lines.iter().any(|line| line.contains("key") || line.contains('\u{1b}')));
    assert_eq!(running.stop(), "");
}

#[test]
fn a_failures_reason_goes_to_stdout_with_its_id_whatever_rust_log_names() {
    for rust_log in
        [None, Some("custom_handler=info"), Some("custom_handler::serve=info,other=debug")]
    {
        let mut running = Running::start(rust_log);
        for (function, body, reason) in [
            ("Changes", r#"{"Data":{"x":"se-cr-et"}}"#, "the batch of documents is not valid JSON"),
            ("Fails", "{}", "the store is away"),
            ("Panics", "{}", "the handler panicked: on purpose"),
        ] {
            running.send("POST", &format!("/{function}"), "the-id", body);
            let line = running.line_with(reason);
            assert!(line.contains("ERROR"), "{line}");
            assert!(line.contains(r#"invocation.id="the-id""#), "{line}");
        }
        assert!(!running.lines.iter().any(|line| line.contains("se-cr-et")));
        running.send("POST", "/Changes", "alive", r#"{"Data":{"x":[]}}"#);
    }
}

#[test]
fn a_bad_rust_log_is_reported_and_info_used() {
    let mut running = Running::start(Some("a=b=c"));
    assert!(running.lines.iter().any(|line| line.contains("RUST_LOG is not understood")));
    running.send("POST", "/Changes", "1", r#"{"Data":{"x":[]}}"#);
    running.line_with("a batch");
    assert_eq!(running.stop(), "");
}

#[test]
fn without_a_usable_port_it_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().port().to_string();
    let end = |port: Option<&str>| {
        let mut command = handler();
        if let Some(port) = port {
            command.env(PORT_VARIABLE, port);
        }
        let Output { status, stdout, .. } = command.output().unwrap();
        assert_eq!(status.code(), Some(3));
        String::from_utf8(stdout).unwrap()
    };
    assert!(end(None).contains("FUNCTIONS_CUSTOMHANDLER_PORT is not set"));
    for port in ["", "http", "65536", "-1", "80 80"] {
        let text = end(Some(port));
        assert!(text.contains(&format!("is `{port}`, which is not a port")), "{text}");
    }
    assert!(end(Some(&taken)).contains(&format!("cannot listen on 127.0.0.1:{taken}: ")));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order() {
    for signal in ["-TERM", "-INT"] {
        let mut running = Running::start(None);
        let pid = running.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(running.child.wait().unwrap().code(), Some(0));
    }
}
