//! The handler's own process, under the stand-in for the Functions host, over TCP.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use cargo_tributary::package::{AppLayout, ZipCompression, pack, stage, unpack};
use serde_json::{Value, json};
use tributary_local::host::HostOptions;

use crate::{handler::HANDLER, hosted::Hosted};

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

#[tokio::test]
async fn the_package_serves_the_blog_and_keeps_its_copies() {
    let unpacked = Unpacked::new();
    let poll_delay = Some(Duration::from_millis(20));
    let options = HostOptions { poll_delay, ..HostOptions::new(unpacked.app()) };
    let hosted = Hosted::of(&unpacked.app(), &[], options).await;
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
