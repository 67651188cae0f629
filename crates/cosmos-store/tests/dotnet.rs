//! The 103 kinds of requests of the .NET SDK 3.64.0, as it sent them: statuses, headers and the shape of the bodies
//! are those that it took.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use cosmos_store::{
    engine::Engine,
    http::{Options, Service},
};
use http::{Request, Response};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Exchange {
    name: String,
    #[serde(default)]
    needs: Vec<Need>,
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    answer: Option<Answer>,
    works: bool,
    /// What is right where the recorded status is wrong, as for what another store had in between, or where this store
    /// refuses a feature.
    #[serde(default)]
    here: Option<u16>,
}

/// What is there before an exchange: a database, a container or an item.
#[derive(Deserialize)]
struct Need {
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Value,
}

#[derive(Deserialize)]
struct Answer {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Value>,
}

const KEY: &str = "x-ms-documentdb-partitionkey";

/// A store with the databases, containers and items of the recording.
struct World {
    service: Service,
    /// The recorded `_rid`s, and those here.
    rids: Vec<(&'static str, String)>,
}

impl World {
    async fn new(exchange: &Exchange) -> Self {
        let engine = Engine::open(None).unwrap();
        let range = exchange.headers.get("x-ms-documentdb-partitionkeyrangeid");
        let partitions = if range.is_some_and(|range| range == "1") { 2 } else { 1 };
        let options = Options { key: None, partitions, ..Options::default() };
        let mut world = Self { service: Service::new(engine, options), rids: Vec::new() };
        for database in ["d", "db1", "listdb1"] {
            world.make("/dbs", &[], json!({"id": database})).await;
        }
        let names =
            "d/q d/c db1/c1 db1/k1 db1/k6 db1/queries db1/lea listdb1/a listdb1/b listdb1/c d/paid";
        for (database, id) in names.split(' ').filter_map(|name| name.split_once('/')) {
            let key = if id == "lea" { "/id" } else { "/pk" };
            let definition = json!({"id": id, "partitionKey": {"paths": [key]}, "defaultTtl": -1});
            world.make(&format!("/dbs/{database}/colls"), &[], definition).await;
        }
        let many = (0..40).map(|n| (format!("i{n}"), format!("p{}", n % 10), n));
        let few = ["a", "b", "x"].into_iter().zip(0..).map(|(id, n)| (id.into(), "p".into(), n));
        let (many, few): (Vec<_>, Vec<(String, String, i32)>) = (many.collect(), few.collect());
        for (container, items) in
            [("db1/colls/c1", &many), ("db1/colls/queries", &many), ("d/colls/q", &few)]
        {
            for (id, key, n) in items {
                let item = json!({"id": id, "pk": key, "n": n, "s": "x"});
                let headers = [(KEY, &*json!([key]).to_string())];
                world.make(&format!("/dbs/{container}/docs"), &headers, item).await;
            }
        }
        for Need { path, headers, body } in &exchange.needs {
            let headers: Vec<_> = headers.iter().map(|(name, it)| (&**name, &**it)).collect();
            world.make(path, &headers, body.clone()).await;
        }
        for (recorded, path) in [("qr0OAKAAADQ=", "/dbs/d/colls/q"), ("qr0OAA==", "/dbs/d")] {
            let rid = world.get(path).await["_rid"].as_str().unwrap().to_owned();
            world.rids.push((recorded, rid));
        }
        let offers = world.get("/offers").await;
        let offers = offers["Offers"].as_array().unwrap();
        for (recorded, offer) in [("Kz5V", offers.first()), ("Kz5W", offers.last())] {
            world.rids.push((recorded, offer.unwrap()["_rid"].as_str().unwrap().to_owned()));
        }
        world
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Response<Bytes> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.service.answer_signed(request.body(Bytes::from(body)).unwrap()).await
    }

    async fn make(&self, path: &str, headers: &[(&str, &str)], body: Value) {
        let response = self.send("POST", path, headers, body).await;
        assert_eq!(response.status(), 201, "{path}: {:?}", response.body());
    }

    async fn get(&self, path: &str) -> Value {
        json_of(&self.send("GET", path, &[], Value::Null).await)
    }

    fn translated(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (recorded, here) in &self.rids {
            text = text.replace(recorded, here);
        }
        text
    }

    async fn replay(&self, exchange: &Exchange) -> Response<Bytes> {
        let name = exchange.name.as_str();
        let path = self.translated(&exchange.path);
        let mut request = Request::builder()
            .method(exchange.method.as_str())
            .uri(format!("/{}", path.trim_start_matches('/')));
        for (header, value) in &exchange.headers {
            let value = match header.as_str() {
                "if-match" if !name.contains("stale") => self.etag_of(&path, exchange).await,
                "if-none-match" if ["item-read-not-modified", "pkranges-304"].contains(&name) => {
                    self.etag_of(&path, exchange).await
                }
                "x-ms-continuation" => {
                    let headers = exchange.headers.iter().filter(|(name, _)| {
                        !["x-ms-continuation", "x-ms-session-token"].contains(&name.as_str())
                    });
                    let headers: Vec<(&str, &str)> =
                        headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
                    let body = match &exchange.body {
                        Some(Value::String(text)) => serde_json::from_str(text).unwrap(),
                        _ => Value::Null,
                    };
                    let first = self.send(&exchange.method, &path, &headers, body).await;
                    let token = first.headers().get("x-ms-continuation");
                    token.map_or("none", |it| it.to_str().unwrap()).to_owned()
                }
                // The recorded tokens are of another store.
                "x-ms-session-token" if !name.contains("session") => continue,
                _ => value.clone(),
            };
            request = request.header(header, value);
        }
        let body = match &exchange.body {
            None | Some(Value::Null) => Bytes::new(),
            Some(Value::String(text)) => self.translated(text).into(),
            Some(other) => {
                BASE64_STANDARD.decode(other["base64"].as_str().unwrap()).unwrap().into()
            }
        };
        self.service.answer_signed(request.body(body).unwrap()).await
    }

    async fn etag_of(&self, path: &str, exchange: &Exchange) -> String {
        let key = exchange.headers.get(KEY).map(|key| (KEY, key.as_str()));
        let response = self.send("GET", path, key.as_slice(), Value::Null).await;
        response.headers()["etag"].to_str().unwrap().to_owned()
    }
}

fn json_of(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap_or_default()
}

/// Returns the paths at which a value lacks what the recorded one has, or has another type.
fn differences(recorded: &Value, here: &Value, path: &str, found: &mut Vec<String>) {
    match (recorded, here) {
        (Value::Object(recorded), Value::Object(here)) => {
            // No SDK reads the one, and the service drops the other.
            let read = recorded.iter().filter(|(name, _)| {
                !["offerIsRUPerMinuteThroughputEnabled", "indexes"].contains(&name.as_str())
            });
            for (name, value) in read {
                match here.get(name) {
                    Some(other) => differences(value, other, &format!("{path}/{name}"), found),
                    None => found.push(format!("{path}/{name} is missing")),
                }
            }
        }
        (Value::Array(recorded), Value::Array(here)) => {
            if let (Some(recorded), Some(here)) = (recorded.first(), here.first()) {
                differences(recorded, here, &format!("{path}[0]"), found);
            }
        }
        _ if std::mem::discriminant(recorded) == std::mem::discriminant(here) => {}
        _ => found.push(format!("{path} is {here} and not {recorded}")),
    }
}

#[tokio::test]
async fn each_kind_of_request_of_the_dotnet_sdk_is_answered_as_the_sdk_takes_it() {
    let exchanges: Vec<Exchange> =
        serde_json::from_str(include_str!("dotnet/exchanges.json")).unwrap();
    assert_eq!(exchanges.len(), 103);
    let mut failures = Vec::new();
    for exchange in &exchanges {
        let name = exchange.name.as_str();
        // A wrong key is refused before, and no limit of throughput is kept.
        if ["account-wrong-key", "item-throttled"].contains(&name) {
            continue;
        }
        let world = World::new(exchange).await;
        let response = world.replay(exchange).await;
        let status = response.status().as_u16();
        let body = String::from_utf8_lossy(response.body()).into_owned();
        let recorded = exchange.answer.as_ref().map_or(0, |answer| answer.status);
        let wanted = exchange.here.unwrap_or(recorded);
        if status != wanted {
            failures.push(format!("{name}: {status} and not {wanted}: {body}"));
            continue;
        }
        let Some(answer) = exchange.answer.as_ref().filter(|_| exchange.works) else { continue };
        let mut found = Vec::new();
        for header in answer.headers.keys() {
            let is_there = response.headers().contains_key(header);
            // Those of metadata and of errors were a test server's.
            let is_free = header == "content-type"
                || header == "x-ms-session-token"
                    && (!exchange.path.contains("/docs") || name.contains("plan") || status >= 400);
            if !is_there && !is_free {
                found.push(format!("no header {header}"));
            }
        }
        let recorded = answer.headers.get("x-ms-substatus").map_or("0", String::as_str);
        let here = response.headers().get("x-ms-substatus");
        let here = here.map_or("0", |it| it.to_str().unwrap());
        if recorded != here {
            found.push(format!("sub-status {here} and not {recorded}"));
        }
        match &answer.body {
            Some(Value::String(text)) => {
                let recorded = serde_json::from_str(text).unwrap();
                differences(&recorded, &json_of(&response), "", &mut found);
            }
            None | Some(Value::Null) if !body.is_empty() => found.push("a body".to_owned()),
            Some(Value::Object(_)) if response.body().first() != Some(&0x81) => {
                found.push("no HybridRow".to_owned());
            }
            _ => {}
        }
        if !found.is_empty() {
            failures.push(format!("{name}: {found:?} in {body}"));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
