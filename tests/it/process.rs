//! The handler's own process, under the stand-in for the Functions host, over TCP.

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::{Request, StatusCode},
};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{Console, FunctionApp, Host, HostOptions, Settings},
};
use tributary_package::{Compression, Layout, pack, stage, unpack};

const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// The package as it is unpacked where it is deployed, removed at the end.
struct Deployed(PathBuf);

impl Deployed {
    /// The zip that `cargo xtask package --verify` names, or else one with this build's handler.
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deployed");
        let _ = fs::remove_dir_all(&folder);
        let deployed = Self(folder);
        let zip = env::var_os("TRIBUTARY_PACKAGE").map_or_else(|| deployed.packed(), PathBuf::from);
        unpack(&zip, &deployed.app()).unwrap();
        deployed
    }

    fn packed(&self) -> PathBuf {
        let layout = Layout::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let (staged, zip) = (self.0.join("staged"), self.0.join("functionapp.zip"));
        stage(&layout, Path::new(HANDLER), &staged).unwrap();
        pack(&staged, &layout.executable, &zip, Compression::None).unwrap();
        zip
    }

    fn app(&self) -> PathBuf {
        self.0.join("app")
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn call(method: &str, url: &str, body: Option<Value>) -> (StatusCode, Value) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let body = Bytes::from(body.map(|body| body.to_string()).unwrap_or_default());
    let request: Request<Full<Bytes>> = Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap();
    let response = client.request(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn the_package_serves_the_blog_and_keeps_its_copies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let endpoint = CosmosEndpoint::in_process(EndpointOptions::default()).unwrap();
    let containers = ContainersFile::read(root.join("infra/containers.json")).unwrap();
    endpoint.provision("tributary", &containers).await.unwrap();
    let server = endpoint.serve(0).await.unwrap();

    let deployed = Deployed::new();
    let mut settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    settings.set_connection("CosmosConnection", &server.connection_string());
    let app = FunctionApp::load(&deployed.app(), &settings).unwrap();
    assert!(app.warnings().is_empty(), "{:?}", app.warnings());
    let console = Console::kept();
    let options = HostOptions {
        poll_delay: Some(Duration::from_millis(20)),
        console: console.clone(),
        ..HostOptions::new(deployed.app())
    };
    let host = Host::start(app, &settings, options).await.unwrap();
    let api = format!("{}/api", host.url().trim_end_matches('/'));

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
    host.stop().await;
}

fn start(settings: &[(&str, &str)]) -> Output {
    Command::new(HANDLER).env_clear().envs(settings.iter().copied()).output().unwrap()
}

#[test]
fn a_missing_or_bad_setting_stops_the_start_with_one_sentence() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let connection = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5");
    for (settings, named) in [
        (&[][..], "CosmosConnection"),
        (&[("CosmosConnection", "nonsense")], "CosmosConnection"),
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

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_a_503_and_not_the_end() {
    use tower::ServiceExt;
    use tributary::{app::app, config::Config, cosmos::Cosmos};
    let config = Config::read(&|name| {
        let nobody = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5";
        (name == "CosmosConnection").then(|| nobody.to_owned())
    });
    let cosmos = config.unwrap().cosmos;
    let router = app(&Cosmos::new(cosmos.account, None, cosmos.database)).into_router().unwrap();
    let request = Request::get("/api/users/ann").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
}
