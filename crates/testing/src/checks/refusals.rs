//! Requests that every function refuses.

use std::collections::BTreeSet;

use axum::body::Body;
use futures::stream;
use serde_json::Value;
use tributary_functions::http::HttpFunction;

use super::{bounds, openapi::OpenApiDocument};
use crate::{Answer, AppUnderTest, World, answers::free_of_charge, problems::refusal};

const JSON: Option<&str> = Some("application/json");

const MALFORMED: [&str; 21] = [
    "",
    " ",
    "{",
    "}",
    "nul",
    "{\"name\": }",
    "{'name': 'Ann'}",
    "{\"a\":1,}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\x\"}",
    "{\"a\":01}",
    "{} {}",
    "\u{feff}{}",
    "name=Ann",
    "<a/>",
    "{\"a\":\"\n\"}",
    "null",
    "true",
    "0",
    "\"text\"",
    "[{\"name\":\"Ann\"}]",
];

const NOT_JSON: [Option<&str>; 8] = [
    None,
    Some(""),
    Some("text/plain"),
    Some("text/json"),
    Some("application/x-www-form-urlencoded"),
    Some("multipart/form-data; boundary=json"),
    Some("application/xml; application/json"),
    Some("application/jsonp"),
];

/// Queries in which a parameter stands twice, with its name. Admission control, the host or a proxy may
/// read one of the two values, and the handler the other.
const TWICE: [(&str, &str); 7] = [
    ("limit=1&limit=100", "limit"),
    ("limit=1&cursor=x&l%69mit=1", "limit"),
    ("limit=100&%6Cimit=1", "limit"),
    ("q=ab&q=ab", "q"),
    // The host reads its names whatever their case.
    ("code=a&CODE=b", "CODE"),
    ("unknown&unknown", "unknown"),
    ("n+n=1&n%20n=2", "n n"),
];

/// Headers with two values where one is read, with their names: in two lines, and as the Functions host joins them.
const TWO_VALUES: [(&[(&str, &str)], &str); 4] = [
    (&[("idempotency-key", "a"), ("idempotency-key", "b")], "Idempotency-Key"),
    (&[("idempotency-key", "a, b")], "Idempotency-Key"),
    (&[("content-type", "application/json"), ("content-type", "text/plain")], "Content-Type"),
    (&[("content-type", "application/json, text/plain")], "Content-Type"),
];

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PURGE"];

/// Sends bad requests to every function: malformed and oversized bodies, bodies of another type, bodies
/// without their fields, parameters and headers that stand twice, codings of bodies, conditions that are not read,
/// path parameters that are no text, and methods that the route does not have. Each is refused in the
/// app's form of errors, which names the fault, and without a request to the store. The numbers, lists and texts
/// of bodies are refused beyond the bounds that the OpenAPI document has, and only there.
pub async fn bad_requests_are_refused<A: AppUnderTest>(world: &World<A>) {
    let document = OpenApiDocument::of::<A>();
    let functions = World::<A>::http_functions();
    let n_before = world.endpoint.request_count();
    for function in &functions {
        let method = function.method.as_str();
        let refusal = |answer: &Answer, kind| refusal::<A>(function.name, answer, kind);
        let fields = |answer: &Answer| refusal(answer, (400, "validation"));
        let parameters: Vec<&str> =
            function.route.split('/').filter(|segment| segment.starts_with('{')).collect();
        let path =
            parameters.iter().fold(function.route.to_owned(), |path, it| path.replace(it, "a1"));
        for (query, name) in TWICE {
            let answer = world.call(method, &format!("{path}?{query}"), &[], None).await;
            assert_eq!(fields(&answer), [name], "{} {query}", function.name);
            free_of_charge(&answer);
        }
        for (headers, name) in TWO_VALUES {
            let answer = world.call(method, &path, headers, None).await;
            assert_eq!(fields(&answer), [name], "{} {headers:?}", function.name);
            free_of_charge(&answer);
        }
        for coding in ["gzip", "br", "identity, gzip"] {
            let answer = world.call(method, &path, &[("content-encoding", coding)], None).await;
            refusal(&answer, (415, "unsupported-encoding"));
            assert_eq!(answer.header("accept-encoding"), "identity", "{}", function.name);
            free_of_charge(&answer);
        }
        if !(function.method.is_safe() || function.signature.is_conditional) {
            for condition in [("if-match", "*"), ("if-none-match", "\"0\"")] {
                let answer = world.call(method, &path, &[condition], None).await;
                refusal(&answer, (412, "precondition-failed"));
                free_of_charge(&answer);
            }
        }
        for parameter in parameters {
            let path = function.route.replace(parameter, "%FF").replace(['{', '}'], "");
            let answer = world.call(method, &path, &[], None).await;
            let name = parameter.trim_matches(['{', '}']);
            assert_eq!(fields(&answer), [name], "{}", function.name);
            free_of_charge(&answer);
        }
        other_methods(world, &functions, function, &path).await;
        let body = document.body(function);
        if let Some(required) = body.and_then(|schema| schema["required"].as_array()) {
            bad_bodies(world, (method, &path)).await;
            let mut required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
            required.sort_unstable();
            if !required.is_empty() {
                let answer = world.send_body((method, &path), JSON, "{}").await;
                assert_eq!(fields(&answer), required, "{}", function.name);
            }
        }
    }
    assert_eq!(world.endpoint.request_count(), n_before, "a bad request came to the store");
    bounds::are_kept(world).await;
}

async fn other_methods<A: AppUnderTest>(
    world: &World<A>,
    functions: &[HttpFunction],
    function: &HttpFunction,
    path: &str,
) {
    let own = functions.iter().filter(|other| other.route == function.route);
    let mut own: BTreeSet<&str> = own.map(|other| other.method.as_str()).collect();
    // A caller that may GET may HEAD.
    if own.contains("GET") {
        own.insert("HEAD");
    }
    for method in METHODS.into_iter().filter(|method| !own.contains(method)) {
        let answer = world.call(method, path, &[], None).await;
        refusal::<A>(function.name, &answer, (405, "method-not-allowed"));
        let allowed: BTreeSet<_> = answer.header("allow").split(',').map(str::trim).collect();
        assert_eq!(allowed, own, "{method} {path}");
        free_of_charge(&answer);
    }
}

async fn bad_bodies<A: AppUnderTest>(world: &World<A>, route: (&str, &str)) {
    let refused = async |content_type, body: Body, kind| {
        let answer = world.send_body(route, content_type, body).await;
        refusal::<A>(route.1, &answer, kind);
        free_of_charge(&answer);
    };
    for body in MALFORMED {
        refused(JSON, body.into(), (400, "malformed-body")).await;
    }
    for body in [&b"\xff\xfe"[..], b"{\"name\": \"\xff\"}", b"\x00"] {
        refused(JSON, body.into(), (400, "malformed-body")).await;
    }
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
        refused(JSON, deep.into(), (400, "malformed-body")).await;
        refused(JSON, open.repeat(100_000).into(), (400, "malformed-body")).await;
    }
    let parts = [Ok("{\"name\":"), Err(std::io::Error::other("reset"))];
    refused(JSON, Body::from_stream(stream::iter(parts)), (400, "malformed-body")).await;
    for content_type in NOT_JSON {
        refused(content_type, "{}".into(), (415, "unsupported-media-type")).await;
    }
    refused(JSON, " ".repeat(5 * 1024 * 1024).into(), (413, "body-too-large")).await;
}
