//! The handler's own process, under the stand-in for the Functions host, over TCP.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use cargo_tributary::package::{AppLayout, ZipCompression, pack, stage, unpack};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tributary_local::host::HostOptions;

use crate::{
    handler::HANDLER,
    hosted::{Hosted, folder, root},
};

/// The package as it is unpacked where it is deployed, removed at the end.
struct Unpacked(PathBuf);

impl Unpacked {
    /// The zip that `cargo xtask package --verify` names, or else one with this build's handler.
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("the_package");
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

/// The options of a host that delivers changes and starts handlers again soon.
fn hasty(folder: PathBuf) -> HostOptions {
    let poll_delay = Some(Duration::from_millis(20));
    HostOptions { poll_delay, retry_scale: 0.02, ..HostOptions::new(folder) }
}

#[tokio::test]
async fn the_package_serves_the_blog_and_keeps_its_copies() {
    let unpacked = Unpacked::new();
    let hosted = Hosted::of(&unpacked.app(), &[], hasty(unpacked.app())).await;
    hosted.put("/api/users/ann", &json!({"username": "Ann"})).await.expect(201);
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    let created = hosted.put("/api/posts/p", &post).await.expect(201).json();
    let refused = hosted.call("PATCH", "/api/posts/p", &[], Value::Null).await.expect(405);
    assert_eq!(refused.json()["status"], 405);

    let deadline = Instant::now() + Duration::from_secs(20);
    for list in ["/api/feed", "/api/users/ann/posts"] {
        loop {
            let page = hosted.get(list).await.expect(200).json();
            if page["items"] == json!([created]) {
                break;
            }
            let lines = hosted.console.lines();
            assert!(Instant::now() < deadline, "{list}: {page}\n{}", lines.join("\n"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    hosted.host.stop().await;
}

/// A pause, writes with a crash of the handler and a replacement among them, and a resume.
#[tokio::test]
async fn a_paused_projection_is_no_crash_for_the_host_and_loses_nothing() {
    let settings = [("Projections__StateSeconds", "0")];
    let hosted = Hosted::of(root(), &settings, hasty(folder())).await;
    let Hosted { host, console, .. } = &hosted;
    // A caller repeats a request that the host could not pass on to a crashed handler.
    let put = async |path: String, body: Value| {
        while !hosted.put(&path, &body).await.status.is_success() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let control = async |verb: &str| {
        let path = format!("/api/projections/PostCopiesInUsers/{verb}");
        hosted.call("POST", &path, &[], json!({})).await.expect(200);
    };
    let titles = async || -> Vec<Value> {
        let page = hosted.get("/api/users/ann/posts?limit=100").await.json();
        page["items"].as_array().unwrap().iter().map(|post| post["title"].clone()).collect()
    };
    put("/api/users/ann".into(), json!({"username": "Ann"})).await;
    control("pause").await;
    for round in 0..3 {
        let title = format!("Version {round}");
        let edits = (0..30).map(|post| {
            put(
                format!("/api/posts/p{post}"),
                json!({"userId": "ann", "title": title, "content": "C"}),
            )
        });
        stream::iter(edits).buffer_unordered(8).collect::<Vec<_>>().await;
        if round == 1 {
            assert!(host.crash_after(Duration::ZERO).await);
        } else if round == 2 {
            host.replace_handlers().await.unwrap();
        }
    }
    assert_eq!(titles().await, [""; 0]);
    control("resume").await;
    let deadline = Instant::now() + Duration::from_mins(1);
    while titles().await != ["Version 2"; 30] {
        assert!(Instant::now() < deadline, "{}", console.lines().join("\n"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(hosted.get("/api/dead-letters").await.json()["items"], json!([]));
    let crashes = console.lines().into_iter().filter(|line| line.contains("starting it again"));
    assert_eq!(crashes.count(), 1, "the one that this test made");
    hosted.host.stop().await;
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
