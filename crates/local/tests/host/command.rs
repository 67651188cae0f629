//! `cargo local` as a command.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use axum::http::StatusCode;
use serde_json::Value;

use crate::http::get;
use crate::support::{Folder, eventually, http_function, staged};

/// A running `cargo local` and what it wrote to stdout.
struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(app: &Folder, arguments: &[&str]) -> Self {
        let mut child = command(app, arguments).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    fn ready(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a signal and waits for the end; gives what else came on stdout.
    fn end_by(mut self, signal: &str) -> String {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        rest
    }
}

fn command(app: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-local"));
    command
        .args(["--app", app.path().to_str().unwrap()])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs to the end: the exit code, stdout and stderr.
fn finished(app: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(app, arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn app() -> Folder {
    staged(&[("Rest", http_function("api/{*path}", &[], "anonymous"))])
}

fn is_running(process: &str) -> bool {
    Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .is_ok_and(|output| {
            let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            !state.is_empty() && !state.starts_with('Z')
        })
}

const FREE_PORTS: [&str; 4] = ["--port", "0", "--cosmos-port", "0"];

#[tokio::test]
async fn stdout_has_exactly_one_line_and_a_signal_leaves_no_process() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let app = app();
        let mut running = Running::start(&app, &FREE_PORTS);
        let ready = running.ready();
        assert_eq!(ready["event"], "ready");
        assert!(ready["cosmos"].as_str().unwrap().ends_with('/'));
        let answer = get(&format!("{}/who", ready["api"].as_str().unwrap())).await;
        assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
        let handler = answer.json()["process"].to_string();
        assert!(is_running(&handler));

        assert_eq!(running.end_by(signal), "");
        if signal != "-KILL" || cfg!(target_os = "linux") {
            eventually("the handler is gone", async || {
                (!is_running(&handler)).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn cosmos_only_starts_the_endpoint_and_its_containers() {
    let app = app();
    app.write(
        "infra/containers.json",
        &serde_json::json!([{ "id": "posts",
            "partitionKey": { "paths": ["/postId"], "kind": "Hash", "version": 2 } }]),
    );
    let mut running = Running::start(&app, &["--cosmos-only", "--cosmos-port", "0"]);
    let ready = running.ready();
    assert_eq!(ready.get("api"), None);
    let url = ready["cosmos"].as_str().unwrap();
    let connection = format!(
        "AccountEndpoint={url};AccountKey={}",
        tributary_local::cosmos::WELL_KNOWN_KEY
    );
    let client = tributary_local::host::connect(&connection).await.unwrap();
    client
        .database_client("tributary")
        .container_client("posts", None)
        .await
        .unwrap();
    running.end_by("-INT");
}

#[test]
fn a_port_in_use_is_one_clear_sentence() {
    let app = app();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for arguments in [
        ["--port", &port, "--cosmos-port", "0"],
        ["--port", "0", "--cosmos-port", &port],
    ] {
        let (code, stdout, stderr) = finished(&app, &arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        let errors: Vec<_> = stderr
            .lines()
            .filter(|line| line.contains("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "{stderr}");
        assert!(
            errors[0].contains(&port) && errors[0].contains("in use"),
            "{stderr}"
        );
    }
}

#[test]
fn a_handler_that_does_not_come_up_ends_the_command() {
    let app = app();
    app.write(
        "local.settings.json",
        &serde_json::json!({ "Values": { "ECHO_EXIT": "7" } }),
    );
    let (code, stdout, stderr) = finished(&app, &FREE_PORTS);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("exit code 7"), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn a_failed_build_ends_the_command() {
    let app = app();
    std::fs::write(
        app.path().join("Cargo.toml"),
        "[package]\nname = \"broken\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    std::fs::create_dir(app.path().join("src")).unwrap();
    std::fs::write(app.path().join("src/main.rs"), "fn main() { nothing }").unwrap();
    let (code, stdout, stderr) = finished(&app, &FREE_PORTS);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("error: the handler does not build"),
        "{stderr}"
    );
}

#[test]
fn a_bad_file_is_named() {
    let app = app();
    app.write("Bad/function.json", &serde_json::json!({ "bindings": [] }));
    let (code, _, stderr) = finished(&app, &FREE_PORTS);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("error: Bad/function.json: bindings must hold"),
        "{stderr}"
    );
}

#[tokio::test]
async fn functions_invocations_and_keys_are_printed() {
    let app = staged(&[
        (
            "Change",
            http_function("api/change", &["get", "post"], "function"),
        ),
        ("Rest", http_function("api/{*path}", &[], "anonymous")),
    ]);
    let arguments = [&FREE_PORTS[..], &["--enable-auth"]].concat();
    let mut running = Running::start(&app, &arguments);
    let mut stderr = running.child.stderr.take().unwrap();
    let api = running.ready()["api"].as_str().unwrap().to_owned();
    assert_eq!(
        get(&format!("{api}/change")).await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        get(&format!("{api}/other")).await.status,
        StatusCode::IM_A_TEAPOT
    );
    running.end_by("-INT");
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    for expected in [
        &format!("\tChange: [GET,POST] {api}/change (key)") as &str,
        &format!("\tRest: {api}/{{*path}}"),
        "\tFunction key: ",
        "Executed 'Functions.Rest' (Succeeded, Id=",
        "GET /api/other → 418",
        "handler | echo handler starts",
        "handler ! a warning from the echo handler",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
}
