//! `cargo local` builds the Cargo project of an app, and watches an app.

use axum::http::StatusCode;

use crate::command::{FREE_PORTS, Running, finished};
use crate::hosted::get;
use crate::support::{Folder, app, host_json, http_function};

const MANIFEST: &str = r#"
package = { name = "handler", edition = "2024" }
workspace = {}
"#;

fn project(manifest: &str, source: &str) -> Folder {
    let app = Folder::new();
    app.write("host.json", host_json())
        .write("functions/Rest/function.json", http_function("api/{*path}", &[], "anonymous"))
        .write("Cargo.toml", manifest)
        .write("src/main.rs", source);
    app
}

#[test]
fn a_failed_build_ends_the_command() {
    let app = project(MANIFEST, "fn main() { nothing }");
    let (code, stdout, stderr) = finished(&app, &FREE_PORTS);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("error: the handler does not build"), "{stderr}");
}

/// A handler without dependencies, so that it builds in a second.
const SMALL_HANDLER: &str = r#"
use std::io::{Read, Write};

fn main() {
    let port = std::env::var("FUNCTIONS_CUSTOMHANDLER_PORT").unwrap();
    let listener = std::net::TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 202 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
}
"#;

#[tokio::test]
async fn a_project_is_built_staged_and_run() {
    let app = project(MANIFEST, SMALL_HANDLER);
    app.write("local.settings.json", serde_json::json!({ "Values": { "A": "1" } }));
    // Twice: the second run finds the stage of the first one.
    for _ in 0..2 {
        let (running, api) = Running::serving(&app, &[]);
        assert_eq!(get(&format!("{api}/x")).await.status, StatusCode::ACCEPTED);
        running.end_by("-INT");
    }
    let stage = app.path().join("target/functionapp-local");
    let names = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&stage), ["Rest", "handler", "host.json", "local.settings.json"]);
    assert_eq!(names(&stage.join("Rest")), ["function.json"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_watched_project_is_linked_dynamically_and_runs_with_the_libraries_of_its_build() {
    let manifest = r#"
        features = { dynamic-linking = ["dep:answers"] }
        dependencies = { answers = { path = "answers", optional = true } }
    "#;
    let library =
        |status: u16| format!("pub static STATUS: &[u8] = b\"HTTP/1.1 {status} OK\\r\\n\";");
    // The small handler, whose status is that of a library.
    let written = "write_all(b\"HTTP/1.1 202 OK\\r\\n";
    let of_library = "write_all(answers::STATUS);\n        let _ = stream.write_all(b\"";
    let source = SMALL_HANDLER.replace(written, of_library);
    assert_ne!(source, SMALL_HANDLER);
    let app = project(&format!("{MANIFEST}{manifest}"), &source);
    app.write(
        "answers/Cargo.toml",
        r#"
        package = { name = "answers", edition = "2024" }
        lib = { crate-type = ["dylib"] }
        "#,
    );
    app.write("answers/src/lib.rs", library(202));
    let (mut running, api) = Running::serving(&app, &["--watch"]);
    assert_eq!(get(&format!("{api}/x")).await.status, StatusCode::ACCEPTED);
    assert!(app.path().join("target/functionapp-local/libanswers.so").is_file());

    app.write("answers/src/lib.rs", library(204));
    running.ready();
    assert_eq!(get(&format!("{api}/x")).await.status, StatusCode::NO_CONTENT);
    running.end_by("-INT");
}

#[tokio::test]
async fn a_watched_app_goes_on_with_new_files_and_after_a_broken_one() {
    let app = app();
    let (mut running, api) = Running::serving(&app, &["--watch"]);
    let first = get(&format!("{api}/who")).await.json()["process"].clone();

    // Another executable: the host goes on.
    let handler = app.path().join("handler");
    let built = std::fs::canonicalize(&handler).unwrap();
    let new = app.path().join("new");
    std::fs::copy(built, &new).unwrap();
    std::fs::rename(new, handler).unwrap();
    assert_eq!(running.ready()["api"], api);
    let second = get(&format!("{api}/who")).await.json()["process"].clone();
    assert_ne!(first, second);

    // A file of the host that cannot be read: the app runs on as it was.
    app.write("Rest/function.json", "{");
    running.complains_of("Rest/function.json");
    assert_eq!(get(&format!("{api}/who")).await.json()["process"], second);

    // Another route: the host starts again, on its port.
    app.write("Rest/function.json", http_function("api/others/{*path}", &[], "anonymous"));
    assert_eq!(running.ready()["api"], api);
    assert_eq!(get(&format!("{api}/who")).await.status, StatusCode::NOT_FOUND);
    let third = get(&format!("{api}/others/who")).await;
    assert_eq!(third.status, StatusCode::IM_A_TEAPOT);
    running.end_by("-INT");
}
