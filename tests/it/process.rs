//! The handler's own process, under the stand-in for the Functions host, over TCP.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::{Request, StatusCode},
};
use cargo_tributary::package::{AppLayout, ZipCompression, pack, stage, unpack};
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{Console, FunctionApp, Host, HostOptions, Keys, Settings},
};

const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// The package as it is unpacked where it is deployed, removed at the end.
struct Unpacked(PathBuf);

impl Unpacked {
    /// The zip that `cargo xtask package --verify` names, or else one with this build's handler.
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        let unpacked = Self(folder);
        let zip = env::var_os("TRIBUTARY_PACKAGE").map_or_else(|| unpacked.packed(), PathBuf::from);
        unpack(&zip, &unpacked.app()).unwrap();
        unpacked
    }

    fn packed(&self) -> PathBuf {
        let layout = AppLayout::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let staged = self.0.join("staged");
        let zip = self.0.join("functionapp.zip");
        stage(&layout, Path::new(HANDLER), &staged).unwrap();
        pack(&staged, &layout.executable, &zip, ZipCompression::None).unwrap();
        zip
    }

    fn app(&self) -> PathBuf {
        self.0.join("app")
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn call(method: &str, url: &str, body: Option<Value>) -> (StatusCode, Value) {
    call_with(method, url, &[], body).await
}

async fn call_with(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> (StatusCode, Value) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let body = Full::from(body.map(|body| body.to_string()).unwrap_or_default());
    let mut request =
        Request::builder().method(method).uri(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = client.request(request.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// The unpacked package under the stand-in for the Functions host.
struct Deployed {
    host: Host,
    api: String,
    console: Console,
    _server: RunningServer,
    _unpacked: Unpacked,
}

async fn deploy(name: &str, more: &[(&str, &str)], keys: Option<Keys>) -> Deployed {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let endpoint = CosmosEndpoint::in_process(EndpointOptions::default()).unwrap();
    let containers = ContainersFile::read(root.join("infra/containers.json")).unwrap();
    endpoint.provision("tributary", &containers).await.unwrap();
    let server = endpoint.serve(0).await.unwrap();

    let unpacked = Unpacked::new(name);
    let mut settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    settings.set_connection("CosmosConnection", &server.connection_string());
    for (name, value) in more {
        settings.set(*name, *value);
    }
    let app = FunctionApp::load(&unpacked.app(), &settings).unwrap();
    assert!(app.warnings().is_empty(), "{:?}", app.warnings());
    let console = Console::kept();
    let options = HostOptions {
        poll_delay: Some(Duration::from_millis(20)),
        retry_scale: 0.02,
        console: console.clone(),
        keys,
        ..HostOptions::new(unpacked.app())
    };
    let host = Host::start(app, &settings, options).await.unwrap();
    let api = format!("{}/api", host.url().trim_end_matches('/'));
    Deployed { host, api, console, _server: server, _unpacked: unpacked }
}

#[tokio::test]
async fn the_package_serves_the_blog_and_keeps_its_copies() {
    let deployed = deploy("the_package", &[], None).await;
    let Deployed { api, console, .. } = &deployed;

    let (status, _) =
        call("PUT", &format!("{api}/users/ann"), Some(json!({"username": "Ann"}))).await;
    assert_eq!(status, StatusCode::CREATED);
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    let (_, created) = call("PUT", &format!("{api}/posts/p"), Some(post)).await;
    let (status, problem) = call("PATCH", &format!("{api}/posts/p"), None).await;
    assert_eq!((status, &problem["status"]), (StatusCode::METHOD_NOT_ALLOWED, &json!(405)));

    let deadline = Instant::now() + Duration::from_secs(20);
    for list in ["feed", "users/ann/posts"] {
        loop {
            let (status, page) = call("GET", &format!("{api}/{list}"), None).await;
            assert_eq!(status, StatusCode::OK);
            if page["items"] == json!([created]) {
                break;
            }
            assert!(Instant::now() < deadline, "{list}: {page}\n{}", console.lines().join("\n"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    deployed.host.stop().await;
}

/// A pause, writes with a crash of the handler and a replacement among them, and a resume. For more writes:
///
/// ```sh
/// TRIBUTARY_PAUSE_WRITES=5000 cargo test --test it a_paused_projection_is_no_crash
/// ```
#[tokio::test]
async fn a_paused_projection_is_no_crash_for_the_host_and_loses_nothing() {
    let writes = std::env::var("TRIBUTARY_PAUSE_WRITES").map_or(300, |n| n.parse().unwrap());
    let n_rounds: usize = writes / 100;
    let deployed = deploy("a_pause", &[("Projections__StateSeconds", "0")], None).await;
    let Deployed { host, api, console, .. } = &deployed;
    // A caller repeats a request that the host could not pass on to a crashed handler.
    let put = async |path: String, body: Value| {
        let url = format!("{api}/{path}");
        while !call("PUT", &url, Some(body.clone())).await.0.is_success() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let control = async |verb: &str| {
        let url = format!("{api}/projections/PostCopiesInUsers/{verb}");
        assert_eq!(call("POST", &url, Some(json!({}))).await.0, StatusCode::OK);
    };
    let titles = async || -> Vec<Value> {
        let (_, page) = call("GET", &format!("{api}/users/ann/posts?limit=100"), None).await;
        page["items"].as_array().unwrap().iter().map(|post| post["title"].clone()).collect()
    };
    put("users/ann".into(), json!({"username": "Ann"})).await;
    control("pause").await;
    for round in 0..n_rounds {
        let title = format!("Version {round}");
        let edits = (0..100).map(|post| {
            put(format!("posts/p{post}"), json!({"userId": "ann", "title": title, "content": "C"}))
        });
        stream::iter(edits).buffer_unordered(8).collect::<Vec<_>>().await;
        if round == n_rounds / 3 {
            assert!(host.crash_after(Duration::ZERO).await);
        } else if round == n_rounds / 3 * 2 {
            host.replace_handlers().await.unwrap();
        }
    }
    assert_eq!(titles().await, [""; 0]);
    control("resume").await;
    let deadline = Instant::now() + Duration::from_mins(1);
    let newest = format!("Version {}", n_rounds - 1);
    while titles().await != vec![newest.as_str(); 100] {
        assert!(Instant::now() < deadline, "{}", console.lines().join("\n"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (_, dead_letters) = call("GET", &format!("{api}/dead-letters"), None).await;
    assert_eq!(dead_letters["items"], json!([]));
    let crashes = console.lines().into_iter().filter(|line| line.contains("starting it again"));
    assert_eq!(crashes.count(), 1, "the one that this test made");
    deployed.host.stop().await;
}

#[tokio::test]
async fn a_command_needs_the_key_of_the_host_and_the_user_of_the_platform() {
    let keys = Keys::generate();
    let settings = [("Authentication__Mode", "easyauth")];
    let deployed = deploy("keys_and_users", &settings, Some(keys.clone())).await;
    let api = &deployed.api;
    let user = ("x-ms-client-principal-id", "ann");
    let other = ("x-ms-client-principal-id", "bob");
    let key = ("x-functions-key", keys.function.as_str());
    for (headers, status) in
        [(&[][..], 401), (&[user], 401), (&[key], 401), (&[key, other], 403), (&[key, user], 201)]
    {
        let url = format!("{api}/users/ann");
        let (answer, problem) =
            call_with("PUT", &url, headers, Some(json!({"username": "Ann"}))).await;
        assert_eq!(answer.as_u16(), status, "{headers:?}");
        // Without a key the handler is not even asked.
        let is_ours = problem["type"].as_str().is_some_and(|t| t.starts_with("urn:tributary:"));
        assert_eq!(is_ours, headers.contains(&key) && status != 201, "{problem}");
    }
    let (status, _) = call("GET", &format!("{api}/users/ann"), None).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = call_with("GET", &format!("{api}/dead-letters"), &[user], None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = call_with("GET", &format!("{api}/dead-letters"), &[key], None).await;
    assert_eq!(status, StatusCode::OK);
    deployed.host.stop().await;
}

fn start(settings: &[(&str, &str)]) -> Output {
    Command::new(HANDLER).env_clear().envs(settings.iter().copied()).output().unwrap()
}

#[test]
fn a_missing_or_bad_setting_stops_the_start_with_one_sentence() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let connection = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5");
    let easyauth = ("Authentication__Mode", "easyauth");
    for (settings, named) in [
        (&[][..], "CosmosConnection"),
        (&[("CosmosConnection", "nonsense")], "CosmosConnection"),
        (&[connection, ("Authentication__Mode", "some")], "Authentication__Mode"),
        (&[connection, easyauth, ("WEBSITE_SITE_NAME", "blog")], "App Service Authentication"),
        (&[connection, ("TOKIO_WORKER_THREADS", "0")], "TOKIO_WORKER_THREADS"),
        (&[connection, easyauth], "FUNCTIONS_CUSTOMHANDLER_PORT"),
        (&[connection], "FUNCTIONS_CUSTOMHANDLER_PORT"),
        (&[connection, ("FUNCTIONS_CUSTOMHANDLER_PORT", "x")], "FUNCTIONS_CUSTOMHANDLER_PORT"),
        (&[connection, ("FUNCTIONS_CUSTOMHANDLER_PORT", &taken)], taken.as_str()),
    ] {
        let output = start(settings);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(named), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn after_sigterm_the_handler_asks_to_be_started_again() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for (signal, code) in [("-TERM", 200), ("-INT", 0)] {
        let mut handler = Command::new(HANDLER)
            .env_clear()
            .env("CosmosConnection", "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5")
            .env("FUNCTIONS_CUSTOMHANDLER_PORT", port.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the handler does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = handler.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(handler.wait().unwrap().code(), Some(code), "{signal}");
    }
}

#[tokio::test]
async fn an_unavailable_store_is_a_503_and_the_process_continues() {
    use tower::ServiceExt;
    use tributary_functions::{
        app::AppOptions,
        config::{Config, Settings},
        cosmos::Cosmos,
    };
    let config = Config::read(Settings::new(&|name| {
        let nobody = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5";
        (name == "CosmosConnection").then(|| nobody.to_owned())
    }));
    let cosmos = config.unwrap().cosmos;
    let cosmos: Arc<Cosmos> = cosmos.into();
    let router = crate::world::World::app(&cosmos, AppOptions::default())
        .into_handler()
        .into_router()
        .unwrap();
    let request = Request::get("/api/users/ann").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
}
