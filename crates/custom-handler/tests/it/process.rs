//! A handler as a process of its own: its port, its stdout and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, thread};

use axum::Router;
use axum::routing::get;
use custom_handler::{CustomHandler, Documents, PORT_VARIABLE, logs};
use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(30);
const PARENT: &str = "b7ad6b7169203331";
/// The variable for the form of the lines: `text`, or `json` with only those of this binary below info.
const LINES: &str = "CUSTOM_HANDLER_TEST_LINES";

/// Serves the handler of the other tests: they start this binary again, with this test alone.
#[test]
#[ignore = "the other tests of this module start it"]
fn handler_process() {
    let Ok(lines) = env::var(LINES) else { return };
    if lines == "json" {
        let verbose = &["it", "custom_handler"];
        let options =
            logs::LogOptions { verbose, format: logs::Format::Json, ..Default::default() };
        logs::init_with(&options).unwrap();
    } else {
        logs::init().unwrap();
    }
    let app = CustomHandler::new()
        .http(
            Router::new()
                .route("/api/hello", get(async || tracing::info!("hello")))
                .route("/api/posts/{id}", get(verbose)),
        )
        .trigger("Changes", async |_: Documents| tracing::info!("a batch"))
        .trigger("Fails", async || Err::<(), _>("the store is unavailable"))
        .trigger("Panics", async || -> () { panic!("on purpose") });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(app.serve()) {
        Ok(shutdown) => std::process::exit(shutdown.exit_code().into()),
        Err(error) => {
            println!("{error}");
            std::process::exit(3);
        }
    }
}

async fn verbose() {
    tracing::trace!(target: "library::wire", "authorization: key");
    tracing::debug!(n = 1_u128, share = 0.5, text = "\"é\"", "details");
    tracing::info!(target: "library", method = "of the event", target = 1, "the end");
}

fn handler() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "process::handler_process", "--ignored", "--nocapture"])
        .env(LINES, "text")
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
    fn start(lines: &str, rust_log: Option<&str>) -> Self {
        let mut command = handler();
        command.env(PORT_VARIABLE, "0").env(LINES, lines);
        command.envs(rust_log.map(|rust_log| ("RUST_LOG", rust_log)));
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        let mut running = Self { child, stdout: lines, address: String::new(), lines: Vec::new() };
        let ready = running.line_with("server.address");
        let address = ready.split("server.address").nth(1).unwrap();
        address.trim_matches(['=', '"', ':', '}']).clone_into(&mut running.address);
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

    /// Sends a request, under an id that may be followed by more headers.
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

    /// Waits for the end of the handler and returns its stderr.
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
fn lines_go_to_stdout_with_the_id_of_their_invocation() {
    let mut running = Running::start("text", None);
    let answer = running.send("POST", "/Changes", "id-of-batch", r#"{"Data":{"x":[]}}"#);
    assert!(answer.contains(r#""Logs":[]"#), "the host would log the line twice: {answer}");
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
fn the_reason_of_a_failure_goes_to_stdout_with_its_id_for_any_rust_log() {
    for rust_log in [None, Some("custom_handler::serve=info,other=debug")] {
        let mut running = Running::start("text", rust_log);
        for (function, body, reason) in [
            ("Changes", r#"{"Data":{"x":"se-cr-et"}}"#, "the batch of documents is not valid JSON"),
            ("Fails", "{}", "the store is unavailable"),
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
fn json_lines_have_the_fields_of_their_spans_and_nothing_of_libraries_below_info() {
    let mut running = Running::start("json", Some("trace"));
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let id_and_trace = format!("the-id\r\ntraceparent: 00-{trace}-{PARENT}-00");
    running.send("GET", "/api/posts/p1?code=key", &id_and_trace, "");
    let lines = [running.line_with("details"), running.line_with("the end")]
        .map(|line| serde_json::from_str::<Value>(&line).unwrap());
    for line in &lines {
        assert_eq!(line["route"], "/api/posts/{id}");
        assert_eq!(line["invocation.id"], "the-id");
        assert_eq!((&line["trace_id"], &line["parent_id"]), (&trace.into(), &PARENT.into()));
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    let [debug, info] = lines;
    assert_eq!((&debug["level"], &debug["target"]), (&"DEBUG".into(), &"it::process".into()));
    assert_eq!((&debug["n"], &debug["share"]), (&1.into(), &0.5.into()));
    assert_eq!((&debug["text"], &debug["method"]), (&"\"é\"".into(), &"GET".into()));
    assert_eq!((&info["method"], &info["target"]), (&"of the event".into(), &"library".into()));
    assert!(!running.lines.iter().any(|line| line.contains("key") || line.contains("/p1")));
    running.send("POST", "/Fails", "the-id", "{}");
    let stderr = running.stop();
    let error: Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!((&error["level"], &error["function"]), (&"ERROR".into(), &"Fails".into()));
}

#[test]
fn a_bad_rust_log_is_reported_and_info_used() {
    let mut running = Running::start("text", Some("a=b=c"));
    assert!(running.lines.iter().any(|line| line.contains("RUST_LOG is not understood")));
    running.send("POST", "/Changes", "1", r#"{"Data":{"x":[]}}"#);
    running.line_with("a batch");
    assert_eq!(running.stop(), "");
}

#[test]
fn a_handler_without_a_usable_port_ends_with_the_reason() {
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
    for port in ["", "http", "65536"] {
        let text = end(Some(port));
        assert!(text.contains(&format!("is `{port}`, which is not a port")), "{text}");
    }
    assert!(end(Some(&taken)).contains(&format!("cannot listen on 127.0.0.1:{taken}: ")));
}

/// Every address of 127.0.0.0/8 reaches a listener on all interfaces.
#[cfg(target_os = "linux")]
#[test]
fn a_handler_listens_on_127_0_0_1_alone() {
    let running = Running::start("text", None);
    let port = running.address.strip_prefix("127.0.0.1:").unwrap();
    for other in ["127.0.0.2", "[::1]"] {
        TcpStream::connect(format!("{other}:{port}")).unwrap_err();
    }
    TcpStream::connect(&running.address).unwrap();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order_and_after_sigterm_the_host_starts_it_again() {
    for (signal, code) in [("-TERM", 200), ("-INT", 0)] {
        let mut running = Running::start("text", None);
        let pid = running.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(running.child.wait().unwrap().code(), Some(code));
    }
}
