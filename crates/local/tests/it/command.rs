//! `cargo local` as a command.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use axum::http::StatusCode;
use serde_json::{Value, json};
use tributary_local::cosmos::{CosmosEndpoint, EndpointOptions};

use crate::hosted::get;
use crate::support::{Folder, app, containers, cosmos_function, http_function, staged, until};

pub(crate) struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Running {
    pub(crate) fn start(app: &Folder, arguments: &[&str]) -> Self {
        let mut child = command(app, arguments).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub(crate) fn ready(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Starts an app on free ports, and returns the address of its API when it is ready.
    pub(crate) fn serving(app: &Folder, arguments: &[&str]) -> (Self, String) {
        let mut running = Self::start(app, &[&FREE_PORTS[..], arguments].concat());
        let api = running.ready()["api"].as_str().unwrap().to_owned();
        (running, api)
    }

    pub(crate) fn complains_of(&mut self, text: &str) {
        let mut lines = self.stderr.by_ref().lines();
        assert!(lines.any(|line| line.unwrap().contains(text)), "{text}");
    }

    pub(crate) fn end_by(self, signal: &str) -> String {
        self.ended_by(signal).0
    }

    /// Sends a signal and waits for the end; gives what else came on stdout and stderr.
    fn ended_by(mut self, signal: &str) -> (String, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        self.child.wait().unwrap();
        let mut stdout = String::new();
        let mut stderr = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        (stdout, stderr)
    }
}

pub(crate) fn local(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-local"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn command(app: &Folder, arguments: &[&str]) -> Command {
    let mut command = local(&["--app", app.path().to_str().unwrap()]);
    // A project in a temporary folder is built there.
    command.args(arguments).env("CARGO_TARGET_DIR", app.path().join("target"));
    command
}

pub(crate) fn finished(app: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(app, arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

pub(crate) fn is_running(process: &str) -> bool {
    Command::new("ps").args(["-o", "stat=", "-p", process]).output().is_ok_and(|output| {
        let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    })
}

pub(crate) const FREE_PORTS: [&str; 4] = ["--port", "0", "--cosmos-port", "0"];

#[test]
fn local_settings_name_the_port_and_sections_without_effect_and_missing_settings_are_warned_of() {
    let app = staged(&[("Copies", cosmos_function())]);
    app.write("infra/containers.json", containers(&[("posts", "/postId"), ("leases", "/id")]));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = json!({ "LocalHttpPort": free.port().to_string(), "CORSCredentials": true });
    let mut values = json!({ "CosmosDatabase": "test" });
    let file = json!({ "Values": values, "Host": host, "ConnectionStrings": {} });
    app.write("local.settings.json", file);
    let mut running = Running::start(&app, &["--cosmos-port", "0"]);
    assert_eq!(running.ready()["api"], format!("http://{free}/api"));
    let (_, stderr) = running.ended_by("-TERM");
    for warning in [
        "local.settings.json: ConnectionStrings has no effect",
        "local.settings.json: Host.CORSCredentials has no effect",
        "AzureWebJobsStorage is missing",
        "FUNCTIONS_WORKER_RUNTIME must be",
    ] {
        assert!(stderr.contains(warning), "{warning}: {stderr}");
    }
    values["AzureWebJobsStorage"] = "UseDevelopmentStorage=true".into();
    values["FUNCTIONS_WORKER_RUNTIME"] = "custom".into();
    app.write("local.settings.json", json!({ "Values": values }));
    let (running, _) = Running::serving(&app, &[]);
    let (_, stderr) = running.ended_by("-TERM");
    assert!(!stderr.contains("local.settings.json"), "{stderr}");
}

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
        if cfg!(target_os = "linux") {
            // Every address of 127.0.0.0/8 reaches a listener on all interfaces.
            for url in [&ready["api"], &ready["cosmos"]] {
                let port = url.as_str().unwrap().split(['/', ':']).nth(4).unwrap();
                for other in ["127.0.0.2", "[::1]"] {
                    std::net::TcpStream::connect(format!("{other}:{port}")).unwrap_err();
                }
            }
        }

        assert_eq!(running.end_by(signal), "");
        if signal != "-KILL" || cfg!(target_os = "linux") {
            until("the handler is gone", async || !is_running(&handler)).await;
        }
    }
}

#[tokio::test]
async fn the_start_names_the_functions_by_domain_and_three_addresses() {
    let app = staged(&[
        ("GetRoom", http_function("api/rooms/{roomId}", &["get"], "anonymous")),
        ("ListRooms", http_function("api/rooms", &["get"], "anonymous")),
        ("PutRoom", http_function("api/rooms/{roomId}", &["put"], "function")),
        ("GetOpenApi", http_function("api/openapi.json", &["get"], "anonymous")),
        ("Unmatched", http_function("api/{*path}", &[], "function")),
    ]);
    let get = |name: &str| json!({ "operationId": name, "tags": ["rooms"] });
    let document = json!({
        "tags": [{ "name": "rooms", "x-functions": [] }],
        "paths": {
            "/api/rooms": { "get": get("ListRooms") },
            "/api/rooms/{roomId}": { "get": get("GetRoom"), "put": get("PutRoom") },
        },
    });
    let values = json!({ "TEST_OPENAPI": document.to_string() });
    app.write("local.settings.json", json!({ "Values": values }));
    let (running, api) = Running::serving(&app, &[]);
    let page = crate::hosted::get(api.trim_end_matches("api")).await.text();
    assert!(page.contains("\nListRooms: [GET] /api/rooms\n"), "{page}");
    let (_, stderr) = running.ended_by("-INT");
    assert!(stderr.contains("  rooms  3 over HTTP: /api/rooms\n"), "{stderr}");
    assert!(!stderr.contains("PutRoom"), "each function is for -v: {stderr}");
    let ready = stderr.split("Ready:").nth(1).unwrap();
    let addresses: Vec<_> =
        ready.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let root = api.trim_end_matches("/api");
    let wanted = [format!("{root}/"), format!("{api}/rooms"), format!("{api}/openapi.json")];
    assert_eq!(addresses, wanted);
}

#[test]
fn a_failed_start_is_one_clear_sentence() {
    let app = app();
    app.write("Bad/function.json", json!({ "bindings": [] }));
    let (code, _, stderr) = finished(&app, &FREE_PORTS);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("error: Bad/function.json: bindings must hold"), "{stderr}");

    let app = self::app();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    app.write("local.settings.json", json!({ "Values": { "TEST_EXIT": "7" } }));
    let in_use = format!("{port} of 127.0.0.1 is in use");
    let cosmos_in_use = format!("port {port} on 127.0.0.1 is in use");
    for (code, arguments, sentence) in [
        (1, &["--port", &port, "--cosmos-port", "0"][..], &in_use as &str),
        (1, &["--port", "0", "--cosmos-port", &port], &cosmos_in_use),
        (1, &FREE_PORTS, "exit status: 7"),
        (1, &["--demo"], "--demo: there is no "),
        (1, &["--demo", "shop"], "--demo shop: there is no "),
        (2, &["--chaos", "crash=2"], "crash must be a probability from 0 to 1"),
    ] {
        let (ended, stdout, stderr) = finished(&app, arguments);
        assert_eq!((ended, stdout.as_str()), (Some(code), ""), "{stderr}");
        let errors: Vec<_> = stderr.lines().filter(|line| line.contains("error: ")).collect();
        assert_eq!(errors.len(), 1, "{stderr}");
        assert!(errors[0].contains(sentence), "{sentence} is not in {stderr}");
        assert!(!stderr.contains('\u{1b}'), "no colours into a pipe");
    }
}

// Reading the command's stdout blocks a thread, and the endpoint needs one.
#[tokio::test(flavor = "multi_thread")]
async fn another_endpoint_gets_the_containers_and_is_used() {
    let endpoint = CosmosEndpoint::new(EndpointOptions::default()).unwrap();
    let server = endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let app = staged(&[("Copies", cosmos_function())]);
    let names = [("posts", "/postId"), ("leases", "/id")];
    app.write("infra/containers.json", containers(&names));
    app.write("local.settings.json", json!({ "Values": { "CosmosDatabase": "test" } }));
    // Twice, since a repetition must change nothing.
    for _ in 0..2 {
        let (code, _, stderr) = finished(&app, &["--cosmos-only", "--cosmos", &connection]);
        assert_eq!(code, Some(0), "{stderr}");
    }
    let client = tributary_local::host::connect(&connection).await.unwrap();
    let posts = client.database_client("test").container_client("posts", None).await.unwrap();
    posts.upsert_item("p1", "p1", json!({ "id": "p1", "postId": "p1" }), None).await.unwrap();
    let mut running =
        Running::start(&app, &["--port", "0", "--cosmos", &connection, "--feed-poll-ms", "5"]);
    assert_eq!(running.ready()["cosmos"], server.url());
    until("the change is delivered", async || !app.deliveries().is_empty()).await;
    running.end_by("-TERM");
    server.stop().await;

    let (code, _, stderr) = finished(&app, &["--cosmos", "AccountKey=c2VjcmV0"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("error: --cosmos must be a connection string"), "{stderr}");
    assert!(!stderr.contains("c2VjcmV0"), "a key must not be printed");
}

#[tokio::test]
async fn functions_requests_keys_mismatches_and_faults_are_printed() {
    let app = staged(&[
        ("Change", http_function("api/change", &["get", "post"], "function")),
        ("Rest", http_function("api/{*path}", &[], "anonymous")),
        ("Left", http_function("api/left", &[], "anonymous")),
    ]);
    let values = json!({ "Values": { "TEST_FUNCTIONS": "Change,Fresh,Rest" } });
    app.write("local.settings.json", values);
    let options = ["--enable-auth", "--chaos", "throttle=0.5,split=1", "--seed", "7"];
    let (running, api) = Running::serving(&app, &options);
    assert_eq!(get(&format!("{api}/change")).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&format!("{api}/other")).await.status, StatusCode::IM_A_TEAPOT);
    let (_, text) = running.ended_by("-INT");
    for expected in [
        &format!("\tChange: [GET,POST] {api}/change (key)") as &str,
        &format!("\tRest: {api}/{{*path}}"),
        "\tFunction key: ",
        "GET /api/other → 418 in ",
        "handler | the handler starts",
        "handler ! a warning from the handler",
        "Fresh has no folder: the handler serves it, and the host never calls it. Add \
         functions/Fresh/function.json",
        "Left has a folder, and the handler does not serve it",
        "Chaos, injected:",
        "lost-answer",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    for unexpected in ["Executed", "Rest has", "\u{1b}"] {
        assert!(!text.contains(unexpected), "{unexpected:?} is in {text}");
    }
}

/// Returns what bash offers for the last of `words`.
fn offered(words: &str) -> Vec<String> {
    let script = format!(
        r#"
        _cargo() {{ COMPREPLY=(of-cargo); }}
        complete -F _cargo cargo
        # Twice, as in a shell that reads its settings again.
        source <("{program}" completions bash)
        source <("{program}" completions bash)
        COMP_WORDS=({words})
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        complete=$(complete -p cargo | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
        "$complete" cargo "${{COMP_WORDS[$COMP_CWORD]}}" "${{COMP_WORDS[$COMP_CWORD - 1]}}"
        printf '%s\n' "${{COMPREPLY[@]}}"
        "#,
        program = env!("CARGO_BIN_EXE_tributary-local"),
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_the_options_and_the_commands_behind_cargo_local() {
    assert_eq!(offered("cargo local --cosmos-p"), ["--cosmos-port"]);
    assert_eq!(offered("cargo local completions po"), ["powershell"]);
    assert_eq!(offered("cargo local comp"), ["completions"]);
    assert_eq!(offered("cargo c"), ["of-cargo"], "the rest stays with cargo's own completion");
}
