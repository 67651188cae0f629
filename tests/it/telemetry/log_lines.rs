//! The log lines that the queries of `docs/operations.md` read.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use tributary_local::cosmos::{Fault, RequestKind};

use crate::handler::{self, Handler, wait_for};
use crate::{blog as given, world::World};

const ID: &str = "6f1f0f3a-0000-4000-8000-000000000001";

async fn deliver(handler: &Handler, function: &str, documents: &[Value]) {
    let body = json!({"Data": {"documents": documents}, "Metadata": {}}).to_string();
    let id = ("x-azure-functions-invocationid", ID);
    let answer = handler.send("POST", &format!("/{function}"), &[id], body).await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.text.contains(r#""Logs":[]"#),
        "the host would log each line twice: {}",
        answer.text
    );
}

async fn lines() -> (World, [Value; 7]) {
    let world = given::blog().await;
    let bad = json!({"id": "bad", "postId": "bad", "type": "poem"});
    world.write_item("posts", &bad).await;
    let mut handler = handler::start(&world, &[]).await;
    world.endpoint.inject(Fault::Refused(429), RequestKind::Read, "posts", 3);
    let trace = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
    let id = ("x-azure-functions-invocationid", ID);
    let answer = handler.send("GET", "/api/posts/p1?code=key", &[trace, id], "").await;
    assert_eq!(answer.status, 200);
    deliver(&handler, "HomeFeed", &world.items("posts").await).await;
    let pause = "/api/projections/UsernamesInPosts/pause";
    let json = ("content-type", "application/json");
    let answer = handler.send("POST", pause, &[id, json], "{}").await;
    assert!(answer.status.is_success(), "{}", answer.text);
    let changes = json!({"Data": {"documents": world.items("users").await}, "Metadata": {}});
    let refused = handler.send("POST", "/UsernamesInPosts", &[id], changes.to_string()).await;
    assert_eq!(refused.status, 503);
    let tick = r#"{"Data": {"timer": {"IsPastDue": false}}}"#;
    for timer in ["NewsMigration", "MaintainProjections"] {
        assert_eq!(handler.send("POST", &format!("/{timer}"), &[id], tick).await.status, 200);
    }
    handler.terminate().await;
    let lines = [
        handler.line("Answered a request").await,
        handler.line("Applied a batch of changes").await,
        handler.line("Stored a change as a dead letter").await,
        handler.line("Migrated feed items to the warm container").await,
        handler.line("partitions.gini").await,
        handler.line("Measured the lag of a projection").await,
        handler.line("Refused a batch of changes: the projection is paused").await,
    ];
    (world, lines)
}

fn says(line: &Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(line[name], *value, "{name} of {line}");
    }
}

#[tokio::test]
async fn each_line_has_the_fields_that_the_queries_name() {
    let (_world, lines) = lines().await;
    a_request_is_one_line_with_its_route_and_its_cost(&lines[0]);
    a_batch_is_one_line_with_its_lag_and_its_dead_letters(&lines);
    the_queries_name_only_fields_of(&lines);
}

fn a_request_is_one_line_with_its_route_and_its_cost(line: &Value) {
    says(
        line,
        &json!({"level": "INFO", "function": "GetPost", "invocation.id": ID, "method": "GET",
            "route": "/api/posts/{postId}", "status": 200, "store.requests": 4, "store.throttled": 3,
            "trace_id": "0af7651916cd43dd8448eb211c80319c", "parent_id": "b7ad6b7169203331"}),
    );
    assert!(line["request_charge_ru"].as_f64().unwrap() > 0.0, "{line}");
    let [store, whole] = ["store.duration_ms", "duration_ms"].map(|name| line[name].as_f64());
    assert!(0.0 < store.unwrap() && store <= whole, "{line}");
}

fn a_batch_is_one_line_with_its_lag_and_its_dead_letters(
    [_, batch, letter, .., refused]: &[Value; 7],
) {
    says(
        batch,
        &json!({"level": "INFO", "function": "HomeFeed", "invocation.id": ID, "delivered": 2,
            "applied": 1, "dead_letters": 1, "failed": 0, "older": 0, "unchanged": 0,
            "store.requests": 4, "store.throttled": 0}),
    );
    says(
        letter,
        &json!({"level": "WARN", "function": "HomeFeed", "invocation.id": ID, "container": "posts",
            "dead_letter.id": "HomeFeed.907a5e2f-d2e9-5145-88d5-2b7990114e5a", "document.id": "bad",
            "reason": "not an item of `posts`: its `type` is none of this container"}),
    );
    says(refused, &json!({"level": "INFO", "function": "UsernamesInPosts", "invocation.id": ID}));
    assert!(!refused["paused_ms"].is_null(), "{refused}");
    assert!(batch["lag_ms"].as_u64().unwrap() < 60_000, "{batch}");
}

/// A source may be years old: as a lag it would raise an alert.
#[tokio::test]
async fn a_batch_of_a_rebuild_has_no_lag() {
    let world = given::blog().await;
    let handler = handler::start(&world, &[]).await;
    let rebuild = "/api/projections/HomeFeed/rebuild";
    let json = ("content-type", "application/json");
    let asked = handler.send("POST", rebuild, &[json], "{}").await;
    assert!(asked.status.is_success(), "{}", asked.text);
    let tick = r#"{"Data": {"timer": {"IsPastDue": false}}}"#;
    assert_eq!(handler.send("POST", "/MaintainProjections", &[], tick).await.status, 200);
    let batch = handler.line("Applied a batch of changes").await;
    assert_eq!((&batch["delivered"], &batch["lag_ms"]), (&json!(1), &Value::Null));
    let done = handler.line("Rebuilt a projection").await;
    assert_eq!((&done["projection"], &done["read"]), (&json!("HomeFeed"), &json!(1)));
}

#[tokio::test]
async fn a_host_that_rewrites_dates_is_reported_once_with_the_setting_that_ends_it() {
    const REPORT: &str = "The Functions host rewrites dates";
    let world = given::blog().await;
    let handler = handler::start(&world, &[]).await;
    let mut posts = world.items("posts").await;
    for (n, (date, reports)) in [
        ("2026-11-21T09:25:54.120Z", 0),
        ("2026-11-21T09:25:54.12Z", 1),
        ("2026-11-21T09:25:54Z", 1),
        ("yesterday", 1),
    ]
    .into_iter()
    .enumerate()
    {
        posts[0]["creationDate"] = date.into();
        deliver(&handler, "HomeFeed", &posts).await;
        let count = |text: &str| handler.output().iter().filter(|line| line.contains(text)).count();
        let is_told = || count("Applied a batch of changes") == n + 1 && count(REPORT) >= reports;
        wait_for(|| is_told().then_some(())).await.unwrap();
        assert_eq!(count(REPORT), reports, "{date}");
    }
    let line = handler.line(REPORT).await;
    assert_eq!((&line["level"], &line["function"]), (&json!("ERROR"), &json!("HomeFeed")));
    let message = line["message"].as_str().unwrap();
    assert!(message.contains("dateParseHandling to \"None\""), "{message}");
    assert!(message.contains("[4.29.0, 5.0.0)"), "{message}");
}

fn fields(kql: &str) -> impl Iterator<Item = &str> {
    kql.split("line").skip(1).filter_map(|rest| {
        let name = match rest.strip_prefix("[\"") {
            Some(quoted) => quoted.split('"').next(),
            None => rest
                .strip_prefix('.')?
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next(),
        };
        name.filter(|name| !name.is_empty())
    })
}

fn the_queries_name_only_fields_of(lines: &[Value]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut queries = fs::read_to_string(root.join("docs/operations.md")).unwrap();
    for file in fs::read_dir(root.join("infra/kql")).unwrap().map(Result::unwrap) {
        queries.push_str(&fs::read_to_string(file.path()).unwrap());
    }
    let known: BTreeSet<_> = lines
        .iter()
        .flat_map(|line| line.as_object().unwrap().keys())
        .map(String::as_str)
        .collect();
    let named: BTreeSet<_> = fields(&queries).collect();
    assert!(named.len() > 8, "{named:?}");
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?} are in no line; these are: {known:?}");
}
