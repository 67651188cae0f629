//! Keys and contents are in no line, whatever the levels.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};
use tributary_functions::app::UNMATCHED_FUNCTION;
use tributary_local::{
    cosmos::{Fault, RequestKind, WELL_KNOWN_KEY},
    host::{FunctionApp, FunctionTrigger, Settings, wire},
};

use crate::handler::Handler;
use crate::{common::openapi, news, webstore, world::World};

/// It is in every key and every content that a test sends, in one part of it or another.
const SECRET: &str = "sesame";

/// The texts that no line may have: the above, the store's key, and the signature by it.
const FORBIDDEN: [&str; 4] = [SECRET, WELL_KNOWN_KEY, "type%3dmaster", "authorization"];

const KEY: (&str, &str) = ("x-functions-key", "sesame-function-key");
const TOKEN: (&str, &str) = ("authorization", "Bearer sesame-token");
const COOKIE: (&str, &str) = ("cookie", "session=sesame-cookie");
const PRINCIPAL: (&str, &str) = ("x-ms-client-principal-id", "sesame-principal");
const CLAIMS: (&str, &str) = ("x-ms-client-principal", "sesame-claims");
const JSON: (&str, &str) = ("content-type", "application/json");

/// Everything the handler has written and has given to the host to write.
struct Talk {
    handler: Handler,
    logs: Vec<String>,
}

impl Talk {
    /// A request with keys in its query and headers.
    async fn call(&self, method: &str, path: &str, body: &str) -> String {
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}code=sesame-code");
        let headers = [KEY, TOKEN, COOKIE, PRINCIPAL, CLAIMS, JSON];
        let answer = self.handler.try_send(method, &path, &headers, body.to_owned()).await;
        answer.map(|(_, text)| text).unwrap_or_default()
    }

    async fn json(&self, method: &str, path: &str, body: &Value) -> String {
        self.call(method, path, &body.to_string()).await
    }

    /// An invocation; its answer is logged by the host.
    async fn invoke(&mut self, function: &str, body: String) {
        let id = ("x-azure-functions-invocationid", "an-invocation");
        let answer = self.handler.send("POST", &format!("/{function}"), &[id, KEY], body).await;
        self.logs.push(answer.1);
    }
}

#[tokio::test]
async fn no_principal_is_in_a_line_either() {
    let settings = [("RUST_LOG", "trace"), ("Authentication__Mode", "easyauth")];
    let handler = Handler::start(&World::new().await, &settings).await;
    let mut talk = Talk { handler, logs: Vec::new() };
    for function in World::http_functions() {
        talk.call(function.method.as_str(), function.route, "{}").await;
    }
    talk.handler.terminate().await;
    assert!(talk.handler.output().iter().any(|line| line.contains(r#""status":401"#)));
    nothing_is_told(&talk.handler.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_and_no_content_is_in_a_line_at_any_level() {
    let world = World::new().await;
    let settings = [("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1"), ("RUST_LIB_BACKTRACE", "1")];
    let handler = Handler::start(&world, &settings).await;
    let mut talk = Talk { handler, logs: Vec::new() };
    good_requests(&talk).await;
    bad_requests(&talk).await;
    triggers(&world, &mut talk).await;
    dead_letters(&world, &talk).await;
    faults(&world, &mut talk).await;
    talk.handler.terminate().await;

    let lines = talk.handler.output();
    everything_was_called(&lines);
    assert!(lines.iter().any(|line| line.contains(r#""level":"DEBUG""#)), "no debug lines at all");
    nothing_is_told(&lines);
    nothing_is_told(&talk.logs);
}

fn nothing_is_told(lines: &[String]) {
    for line in lines {
        let lower = line.to_lowercase();
        for forbidden in FORBIDDEN {
            assert!(!lower.contains(&forbidden.to_lowercase()), "{forbidden} is in {line}");
        }
    }
}

async fn good_requests(talk: &Talk) {
    for (id, name) in [("ann", "Sesame Ann"), ("bob", "Sesame Bob")] {
        talk.json("PUT", &format!("/api/users/{id}"), &json!({"username": name})).await;
    }
    talk.json("POST", "/api/users", &json!({"username": "Sesame Cy"})).await;
    talk.json("PUT", "/api/users/bob", &json!({"username": "Sesame Robert"})).await;
    let post = json!({"userId": "ann", "title": "A sesame title", "content": "Sesame content"});
    for path in ["/api/posts/p", "/api/posts/q"] {
        talk.json("PUT", path, &post).await;
    }
    talk.json("POST", "/api/posts", &post).await;
    let comment = json!({"userId": "bob", "content": "Sesame comment"});
    let comment = talk.json("POST", "/api/posts/p/comments", &comment).await;
    let comment: Value = serde_json::from_str(&comment).unwrap();
    let comment = format!("/api/posts/p/comments/{}", comment["id"].as_str().unwrap());
    talk.call("PUT", "/api/posts/p/likes/bob", "").await;
    for path in [
        "/api/users/ann",
        "/api/users/ann/posts",
        "/api/posts/p",
        "/api/feed",
        "/api/posts/p/comments",
        &comment,
        "/api/posts/p/likes",
        "/api/posts/p/likes/bob",
        "/api/dead-letters",
    ] {
        talk.call("GET", path, "").await;
    }
    for path in [comment.as_str(), "/api/posts/p/likes/bob", "/api/posts/q"] {
        talk.call("DELETE", path, "").await;
    }
    // What is not called above, as `docs/api.md` has it.
    for function in World::http_functions() {
        let is_called = ["DeletePost", "UnlikePost"].contains(&function.name);
        if let (Some(path), false) = (openapi::path(&function, "ann", "p"), is_called) {
            let body = openapi::body(&function, "ann", "Sesame text").unwrap_or_default();
            talk.json(function.method.as_str(), &path, &body).await;
        }
    }
    for (method, path, body, _) in webstore::requests::catalog("Sesame text") {
        talk.json(method, path, &body.unwrap_or_default()).await;
    }
    let mut order = String::new();
    for (method, path, body) in webstore::requests::shelf("Sesame text") {
        order = talk.json(method, path, &body).await;
    }
    let order: Value = serde_json::from_str(&order).unwrap();
    let order = order["id"].as_str().unwrap();
    for (method, path, body, _) in webstore::requests::customers("Sesame text", order) {
        talk.json(method, &path, &body.unwrap_or_default()).await;
    }
    talk.call("GET", "/api/reports/top-customers", "").await;
    for (n, (method, path, body, _)) in
        news::requests::all("Sesame text", "example").into_iter().enumerate()
    {
        let answer = talk.json(method, &path, &body.unwrap_or_default()).await;
        if n == 0 {
            let item = serde_json::from_str(&answer).unwrap();
            talk.call("GET", &news::requests::path(&item), "").await;
        }
    }
}

/// Every route with what it does not take.
async fn bad_requests(talk: &Talk) {
    let long = format!("\"{}\"", SECRET.repeat(300_000));
    for function in World::http_functions() {
        let path = function.route.replace("{postId}", "p").replace("{userId}", "ann");
        let path = path.replace("{commentId}", "c").replace("{letterId}", "HomeFeed.no");
        let path = path.replace("{customerId}", "ann").replace("{orderId}", "o");
        let method = function.method.as_str();
        for body in [
            r#"{"username": "sesame", "title": "#,
            r#"["sesame"]"#,
            r#"{"username": 5, "userId": ["sesame"], "title": {"sesame": 1}, "content": null}"#,
            r#"{"userId": "sesame?", "title": "", "content": "sesame", "sesame": "sesame"}"#,
            r#"{"password": "sesame but wrong", "items": [{"productId": "sesame"}]}"#,
            "sesame",
            &long,
        ] {
            talk.call(method, &path, body).await;
        }
        talk.call(method, &format!("{path}?limit=sesame&cursor=sesame"), "{}").await;
        talk.call(method, &format!("{path}?code=sesame&code=sesame"), "{}").await;
        let broken = function.route.replace('{', "sesame%ff").replace('}', "");
        talk.call(method, &broken, "{}").await;
        let conditions = [("if-match", "sesame"), ("if-none-match", "\"sesame\"")];
        let text = [("content-type", "text/sesame"), ("idempotency-key", "sesame")];
        talk.handler.send(method, &path, &[conditions[0], KEY], "{}").await;
        talk.handler.send(method, &path, &[conditions[1], text[0]], "sesame").await;
        talk.handler.send(method, &path, &[JSON, text[1]], "{\"content\": \"sesame\"}").await;
    }
    talk.call("PATCH", "/api/posts/p", "sesame").await;
    talk.call("SESAME", "/sesame", "sesame").await;
}

/// Sends requests that the store refuses or whose answers are lost.
async fn faults(world: &World, talk: &mut Talk) {
    use RequestKind::{Batch, Create, Query, Read, Replace};
    let post = json!({"userId": "ann", "title": "sesame", "content": "sesame"});
    let comment = json!({"userId": "bob", "content": "sesame"});
    let batch = json!({"Data": {"documents": world.items("posts").await}}).to_string();
    for fault in [
        Fault::Refused(400),
        Fault::Refused(403),
        Fault::Refused(412),
        Fault::Refused(429),
        Fault::Refused(449),
        Fault::Refused(500),
        Fault::Refused(503),
        Fault::AnswerLost,
    ] {
        for kind in [Batch, Create, Query, Read, Replace] {
            world.endpoint.inject(fault, kind, "posts", 3);
            talk.json("PUT", "/api/posts/p", &post).await;
            talk.json("POST", "/api/posts/p/comments", &comment).await;
            talk.call("GET", "/api/posts/p/comments", "").await;
            world.endpoint.inject(fault, kind, "users", 3);
            talk.json("PUT", "/api/users/bob", &json!({"username": "Sesame Rob"})).await;
            talk.invoke("PostCopiesInUsers", batch.clone()).await;
            for container in ["feeds_current", "feeds_historical", "feeds_locations"] {
                world.endpoint.inject(fault, kind, container, 3);
            }
            for (method, path, body, _) in news::requests::all("Sesame text", "example") {
                talk.json(method, &path, &body.unwrap_or_default()).await;
            }
        }
    }
}

/// Every trigger with what it takes, what it does not take, and what is not even an invocation.
async fn triggers(world: &World, talk: &mut Talk) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    let app = FunctionApp::load(root, &settings).unwrap();
    let mut documents = [world.items("posts").await, world.items("users").await].concat();
    documents.extend([
        json!({"id": "bad", "postId": "bad", "type": "sesame", "content": "sesame"}),
        json!({"id": "p", "postId": "p", "type": "post", "title": ["sesame"], "version": "sesame"}),
        json!("sesame"),
        json!(["sesame"]),
    ]);
    // A name that the audit finds, and a reservation.
    let odd = json!({"id": "c9", "postId": "p", "type": "comment", "userId": "ann",
        "userUsername": "Sesame", "usernameVersion": 1, "content": "sesame", "version": 1,
        "creationDate": "2026-11-21T09:25:54.120Z"});
    world.container("posts").await.create_item("p", "c9", &odd, None).await.unwrap();
    for function in app.functions() {
        let attempt = wire::Attempt::default();
        let body = match &function.trigger {
            FunctionTrigger::Http(_) => continue,
            FunctionTrigger::Timer(_) => wire::timer(function, None, &attempt),
            FunctionTrigger::Cosmos(_) => {
                let page = wire::page(function, &documents).unwrap();
                wire::documents(function, &page, &attempt)
            }
        };
        talk.invoke(&function.name, body).await;
        for bad in ["sesame", "[\"sesame\"]", "{\"Data\": {\"a\": \"sesame\", \"b\": \"[sesame\"}}"]
        {
            talk.invoke(&function.name, bad.to_owned()).await;
        }
    }
}

async fn dead_letters(world: &World, talk: &Talk) {
    let letters = world.items("dead-letters").await;
    assert!(letters.len() > 8, "{letters:?}");
    assert!(letters.iter().any(|letter| letter["raw"].as_str().unwrap().contains(SECRET)));
    for (n, letter) in letters.iter().enumerate() {
        let path = format!("/api/dead-letters/{}", letter["id"].as_str().unwrap());
        talk.call("GET", &path, "").await;
        talk.call("POST", &format!("{path}/replay"), "").await;
        if n % 2 == 0 {
            talk.call("DELETE", &path, "").await;
        }
    }
}

/// A function that is added is one to call here.
fn everything_was_called(lines: &[String]) {
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let seen: BTreeSet<(String, bool)> = lines
        .filter(|line| line["message"] == "Answered a request")
        .map(|line| {
            let good = line["status"].as_u64().unwrap() < 300;
            (line["function"].as_str().unwrap().to_owned(), good)
        })
        .collect();
    for function in World::http_functions() {
        for good in [true, false] {
            let name = function.name.to_owned();
            let wanted = if good { "a good" } else { "a refused" };
            assert!(
                seen.contains(&(name.clone(), good)),
                "{name} has no {wanted} request: its row in docs/api.md is no example of it. Add one \
                 to good_requests() or bad_requests() in tests/it/telemetry/secrets.rs"
            );
        }
    }
    assert!(seen.contains(&(UNMATCHED_FUNCTION.to_owned(), false)));
}
