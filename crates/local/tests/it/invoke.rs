//! `cargo local invoke` and `cargo local tail`, beside a running `cargo local`.

use std::io::Read as _;
use std::process::{Child, Output};

use serde_json::{Value, json};

use crate::command::{Running, local};
use crate::support::{Folder, containers, cosmos_function, http_function, staged};

struct App {
    folder: Folder,
    running: Running,
    port: String,
}

impl App {
    fn start() -> Self {
        let folder = staged(&[
            ("Copies", cosmos_function()),
            ("Echo", http_function("api/{*path}", &["put"], "anonymous")),
            // The stand-in finds the document behind the route of a function.
            ("Doc", http_function("api/openapi.json", &["get"], "anonymous")),
        ]);
        let containers = containers(&[("posts", "/postId"), ("leases", "/id")]);
        folder.write("infra/containers.json", containers);
        let document = json!({ "paths": { "/api/rooms/{roomId}": {
            "parameters": [{ "in": "path", "name": "roomId", "example": "r 1" }],
            "put": { "operationId": "Echo", "requestBody": { "content": { "application/json": {
                "schema": { "type": "object", "properties": { "seats": { "example": 7 } } },
            } } } },
        } } });
        let values = json!({ "CosmosDatabase": "test", "TEST_OPENAPI": document.to_string() });
        folder.write("local.settings.json", json!({ "Values": values }));
        let (running, api) = Running::serving(&folder, &[]);
        let port = api.trim_end_matches("/api").rsplit(':').next().unwrap().to_owned();
        Self { folder, running, port }
    }

    fn invoke(&self, arguments: &[&str]) -> Output {
        local(&[&["invoke"], arguments, &["--port", &self.port]].concat()).output().unwrap()
    }

    fn file(&self, name: &str, json: &Value) -> String {
        self.folder.write(name, json);
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn ends(output: &Output, code: i32, said: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(said), "{said:?} is not in {stderr}");
}

fn tail(arguments: &[&str]) -> Child {
    let mut child = local(&[&["tail"], arguments].concat()).spawn().unwrap();
    // The line says that it has begun to follow.
    let mut begin = [0; "Waiting for invocations".len()];
    child.stderr.as_mut().unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(text(&begin), "Waiting for invocations");
    child
}

#[test]
fn an_http_function_gets_the_example_of_the_document_or_a_file() {
    let app = App::start();
    let refused = app.invoke(&["Echo", "--example"]);
    ends(&refused, 1, "→ 418 I'm a teapot in ");
    ends(&refused, 1, "error: Echo answered 418");
    assert!(text(&refused.stdout).starts_with("{\n  \"process\""));
    app.folder.answers(&json!({ "status": 204 }));
    let body = app.file("body.json", &json!({ "seats": 8 }));
    ends(&app.invoke(&["echo", "--body", &body]), 0, "→ 204 No Content in ");
    let deliveries = app.folder.deliveries();
    assert!(deliveries.iter().all(|delivery| delivery.line == "PUT /api/rooms/r%201"));
    let bodies: Vec<_> = deliveries.iter().map(|delivery| &*delivery.body).collect();
    assert_eq!(bodies, ["{\n  \"seats\": 7\n}", "{\"seats\":8}"]);
    assert_eq!(deliveries[0].header("content-type"), "application/json");
    app.running.end_by("-INT");

    let ended = app.port;
    for command in [&["invoke", "Copies"][..], &["tail"]] {
        let output = local(&[command, &["--port", &ended]].concat()).output().unwrap();
        ends(&output, 1, "start one with `cargo local`");
    }
}

#[test]
fn a_trigger_gets_documents_and_a_failure_is_the_exit_code() {
    let app = App::start();
    ends(&app.invoke(&["Copies"]), 1, "no batch since the start");
    ends(&app.invoke(&["Copy"]), 1, "no function Copy. The app has Copies, Doc");

    let documents = app.file("documents.json", &json!([{ "id": "p1" }, { "id": "p2" }]));
    let mut followed = tail(&["--port", &app.port, "--function", "copies"]);
    let done = app.invoke(&["Copies", "--documents", &documents]);
    ends(&done, 0, "Copies: 2 documents succeeded in ");
    assert!(app.folder.deliveries()[0].body.contains("p2"));
    app.folder.answers(&json!({ "status": 500 }));
    let failed = app.invoke(&["Copies", "--documents", &documents]);
    ends(&failed, 1, "error: Copies failed after ");

    app.running.end_by("-INT");
    assert!(followed.wait().unwrap().success());
    let mut lines = String::new();
    followed.stdout.unwrap().read_to_string(&mut lines).unwrap();
    let results: Vec<_> = lines.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(results, ["ok", "failed"], "only those of the function: {lines}");
    let mut end = String::new();
    followed.stderr.unwrap().read_to_string(&mut end).unwrap();
    assert!(end.contains("The app has ended"), "{end}");
}
