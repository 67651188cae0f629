//! Secrets stay where they are.
//!
//! | secret | declared by | where it must not be |
//! | --- | --- | --- |
//! | a value that callers send and never get | `writeOnly` in the schema of its type | answers, items, dead letters, output |
//! | a stored property | [`ChangeFeedItem::SECRETS`](tributary_functions::projection::ChangeFeedItem::SECRETS) | answers, items of other containers, dead letters, output |
//! | keys, tokens and all texts of callers | | output |
//!
//! The output of a handler is its log lines at each level, the bodies of its invocations' answers, its traces
//! and its metrics.

use std::{
    collections::BTreeSet,
    mem,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tributary_local::{
    cosmos::{Fault, RequestKind, WELL_KNOWN_KEY},
    host::{
        FunctionTrigger,
        wire::{self, Attempt},
    },
};

use super::containers;
use super::examples::{Example, Examples, Listed, PROBE, texts};
use crate::{Answer, AppUnderTest, World, handler::Handler};

/// The fewest characters of a stored text that is searched for: a shorter one may stand anywhere.
const MIN_STORED_SECRET: usize = 8;

const HEADERS: [(&str, &str); 6] = [
    ("x-functions-key", "sesame-function-key"),
    ("authorization", "Bearer sesame-token"),
    ("cookie", "session=sesame-cookie"),
    ("x-ms-client-principal-id", "sesame-principal"),
    ("x-ms-client-principal", "sesame-claims"),
    ("content-type", "application/json"),
];

/// The texts that no output has: the probe, the store's key, and a signature by that key.
const FORBIDDEN: [&str; 4] = [PROBE, WELL_KNOWN_KEY, "type%3dmaster", "authorization"];

/// Calls each function, with secrets in their places and in others, and looks for them in all answers, in the
/// items of other containers and in dead letters.
pub async fn secrets_stay_inside<A: AppUnderTest>() {
    let world = World::<A>::new().await;
    let mut told: Vec<(String, String)> = Vec::new();
    let mut examples = Examples::of::<A>("");
    let functions = Listed::all::<A>();
    let mut send = async |_: &Examples, example: &Example| {
        let answer = example.send(&world, &[]).await;
        let text = format!("{} {:?} {}", example.of.function.method, answer.headers, answer.text);
        told.push((text, example.path.clone()));
        answer
    };
    examples.create(&world, &mut send).await;
    world.settle().await;
    let stored = stored_secrets(&world).await;
    for (container, property) in secret_properties::<A>() {
        let items = world.items(container).await;
        let holders = items.iter().filter_map(|item| item.get(property));
        for secret in holders {
            for one in misplaced(&examples, &functions, property, secret) {
                send(&examples, &one).await;
            }
        }
        deliver_unreadable(&world, container, &items).await;
    }
    examples.read(&mut send).await;
    for letter in world.list("/api/dead-letters").await {
        let path = format!("/api/dead-letters/{}", letter["id"].as_str().unwrap());
        let text = world.get(&path).await.expect(200).text;
        is_not_in(&examples.secrets, &text, &path);
        is_not_in(&stored, &text, &path);
    }
    let sent = mem::take(&mut examples.secrets);
    let all: BTreeSet<String> = sent.union(&stored).cloned().collect();
    for container in containers::<A>() {
        let holds = secret_properties::<A>().iter().any(|(own, _)| *own == container);
        let secrets = if holds { &sent } else { &all };
        for item in world.items(&container).await {
            is_not_in(secrets, &item.to_string(), &format!("an item of `{container}`"));
        }
    }
    examples.delete(&mut send).await;
    for (text, path) in &told {
        is_not_in(&all, text, path);
    }
    examples.all_have_succeeded();
}

#[track_caller]
fn is_not_in(secrets: &BTreeSet<String>, text: &str, place: &str) {
    let found = secrets.iter().find(|secret| text.contains(*secret));
    assert!(
        found.is_none(),
        "a secret is in {place}. Leave it out of the type; a dead letter leaves out what `SECRETS` of its \
         projection names: {text}"
    );
}

fn secret_properties<A: AppUnderTest>() -> BTreeSet<(&'static str, &'static str)> {
    let app = A::program().describe().unwrap();
    let projections = app.domains.iter().flat_map(|domain| &domain.projections);
    let secrets = projections.flat_map(|projection| {
        projection.secrets().iter().map(|property| (projection.container_id(), *property))
    });
    secrets.collect()
}

async fn stored_secrets<A: AppUnderTest>(world: &World<A>) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for (container, property) in secret_properties::<A>() {
        let items = world.items(container).await;
        let found = items.iter().flat_map(|item| texts(&item[property]));
        secrets.extend(found.filter(|text| text.len() >= MIN_STORED_SECRET));
        assert!(
            !secrets.is_empty(),
            "no example stores `{property}` in `{container}`, which SECRETS of a projection names"
        );
    }
    secrets
}

/// Returns the requests with a stored secret in a body: as a member that the function does not take, and in
/// place of a value that callers never get.
fn misplaced(
    examples: &Examples,
    functions: &[Listed],
    property: &str,
    secret: &Value,
) -> Vec<Example> {
    let commands = functions.iter().filter(|listed| listed.function.method != "GET");
    let with_body = commands.filter_map(|listed| examples.example(listed));
    let mut with_secret = Vec::new();
    for Example { of, path, body } in with_body {
        let own = body.unwrap_or_default();
        let mut beside = own.clone();
        beside[property] = secret.clone();
        let mut bodies = vec![beside];
        for text in texts(secret) {
            let mut body = own.clone();
            for (_, member) in body.as_object_mut().into_iter().flatten() {
                if member.as_str().is_some_and(|own| examples.secrets.contains(own)) {
                    *member = text.clone().into();
                }
            }
            bodies.push(body);
        }
        let example = |body| Example { of: of.clone(), path: path.clone(), body: Some(body) };
        with_secret.extend(bodies.into_iter().map(example));
    }
    with_secret
}

/// Delivers the items of a container in forms that no program can read.
async fn deliver_unreadable<A: AppUnderTest>(world: &World<A>, container: &str, items: &[Value]) {
    let mut documents = Vec::new();
    for item in items {
        let mut broken = item.clone();
        broken["version"] = json!({"of": "another program"});
        documents.extend([broken, json!([item])]);
    }
    let app = A::program().describe().unwrap();
    let projections = app.domains.iter().flat_map(|domain| &domain.projections);
    for projection in projections.filter(|projection| projection.container_id() == container) {
        world.deliver(projection.function(), &documents).await.unwrap();
    }
}

/// Runs the handler of an app, its `executable`, at the level `trace`. Each function, trigger and timer gets
/// good and bad requests with keys and texts with probes, also while the store fails. No output has one of them.
///
/// An app's test calls it with `env!("CARGO_BIN_EXE_<name>")`.
pub async fn no_output_has_a_secret<A: AppUnderTest>(executable: &str) {
    let world = World::<A>::new().await;
    let collector = Collector::start().await;
    let settings = [
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
    ];
    let requests = async {
        let caller = Caller::of::<A>(Handler::start(executable, &world, &settings).await);
        let mut examples = Examples::of::<A>("");
        let send = async |_: &Examples, example: &Example| caller.send_example(example).await;
        examples.create(&world, send).await;
        examples.read(send).await;
        let answers = caller.invoke_all(&world).await;
        examples.delete(send).await;
        for listed in Listed::all::<A>() {
            caller.send_bad_requests(&examples, &listed).await;
        }
        examples.all_have_succeeded();
        for letter in world.list("/api/dead-letters").await {
            let path = format!("/api/dead-letters/{}", letter["id"].as_str().unwrap());
            caller.send("GET", &path, String::new()).await;
            caller.send("POST", &format!("{path}/replay"), String::new()).await;
        }
        let output = caller.end().await;
        (output, answers)
    };
    // Amid faults, a handler waits most of the time.
    let amid_faults = output_amid_faults::<A>(executable);
    let ((mut output, mut answers), amid_faults) = tokio::join!(requests, amid_faults);
    output.extend(amid_faults);

    let easyauth = [("RUST_LOG", "trace"), ("Authentication__Mode", "easyauth")];
    let caller = Caller::of::<A>(Handler::start(executable, &world, &easyauth).await);
    for listed in Listed::all::<A>() {
        caller.send(listed.function.method.as_str(), listed.function.route, "{}".into()).await;
    }
    output.extend(caller.end().await);
    for listed in Listed::all::<A>() {
        let name = listed.function.name;
        assert!(output.iter().any(|line| line.contains(name)), "no line is about {name}");
    }
    assert!(output.iter().any(|line| line.contains(r#""level":"DEBUG""#)), "no debug lines");
    output.append(&mut answers);
    let exported = collector.exported.lock().unwrap();
    assert!(!exported.is_empty(), "nothing was exported");
    output.extend(exported.iter().map(|body| String::from_utf8_lossy(body).into_owned()));
    for line in &output {
        let lower = line.to_lowercase();
        for forbidden in FORBIDDEN {
            assert!(!lower.contains(&forbidden.to_lowercase()), "{forbidden} is in {line}");
        }
    }
}

/// Returns the output of a handler whose commands meet each failure of the store, at each kind of request.
async fn output_amid_faults<A: AppUnderTest>(executable: &str) -> Vec<String> {
    use RequestKind::{Batch, Create, Query, Read, Replace};
    let examples = Examples::of::<A>("");
    let commands: Vec<Example> =
        Listed::all::<A>().iter().filter_map(|listed| examples.example(listed)).collect();
    let refusals = [403, 412, 503].map(Fault::Refused);
    let outputs = refusals.into_iter().chain([Fault::AnswerLost]).map(async |fault| {
        let world = World::<A>::new().await;
        let settings = [("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")];
        let caller = Caller::of::<A>(Handler::start(executable, &world, &settings).await);
        for container in containers::<A>() {
            for kind in [Batch, Create, Query, Read, Replace] {
                world.endpoint.inject(fault, kind, &container, 3);
            }
        }
        // The second time, the items exist.
        for command in commands.iter().chain(&commands) {
            caller.send_example(command).await;
        }
        caller.end().await
    });
    join_all(outputs).await.concat()
}

struct Collector {
    url: String,
    exported: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    async fn start() -> Self {
        let exported = Arc::<Mutex<Vec<Bytes>>>::default();
        let keep = async |State(exported): State<Arc<Mutex<Vec<Bytes>>>>, body: Bytes| {
            exported.lock().unwrap().push(body);
        };
        let router = Router::new().fallback(keep).with_state(Arc::clone(&exported));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { url, exported }
    }
}

/// A caller of a handler, with keys in its query and headers, and the sign-in of the app if that has its own.
struct Caller(Handler, Vec<(&'static str, String)>);

impl Caller {
    fn of<A: AppUnderTest>(handler: Handler) -> Self {
        let mut headers = A::USER.map(A::sign_in).unwrap_or_default();
        let others = HEADERS.iter().filter(|(name, _)| headers.iter().all(|(own, _)| own != name));
        let others: Vec<_> = others.map(|(name, value)| (*name, (*value).to_owned())).collect();
        headers.extend(others);
        Self(handler, headers)
    }

    /// Sends a request; `None` if the answer came before all of the body was taken.
    async fn send(&self, method: &str, path: &str, body: String) -> Option<Answer> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}code=sesame-code");
        let headers: Vec<_> = self.1.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.0.try_send(method, &path, &headers, body).await
    }

    async fn send_example(&self, example: &Example) -> Answer {
        let body = example.body.as_ref().map(Value::to_string).unwrap_or_default();
        let method = example.of.function.method.as_str();
        self.send(method, &example.path, body).await.unwrap()
    }

    async fn send_bad_requests(&self, examples: &Examples, listed: &Listed) {
        let method = listed.function.method.as_str();
        let path = examples.path(listed);
        let long = format!("\"{}\"", PROBE.repeat(300_000));
        for body in [
            r#"{"sesame": "sesame", "title": "#,
            r#"["sesame"]"#,
            r#"{"id": 5, "userId": ["sesame"], "title": {"sesame": 1}, "content": null}"#,
            "sesame",
            &long,
        ] {
            self.send(method, &path, body.to_owned()).await;
        }
        // Each member has a value of another type.
        let example = examples.example(listed);
        if let Some(mut body) = example.and_then(|example| example.body) {
            for (_, member) in body.as_object_mut().into_iter().flatten() {
                *member = json!({PROBE: [PROBE]});
            }
            self.send(method, &path, body.to_string()).await;
        }
        for query in ["limit=sesame&cursor=sesame", "code=sesame&code=sesame"] {
            self.send(method, &format!("{path}?{query}"), "{}".into()).await;
        }
        let broken = listed.function.route.replace('{', "sesame%ff").replace('}', "");
        self.send(method, &broken, "{}".into()).await;
        for header in [
            ("if-match", "sesame"),
            ("if-none-match", "\"sesame\""),
            ("content-type", "text/sesame"),
            ("idempotency-key", "sesame"),
        ] {
            let headers = [header, HEADERS[0]];
            let _ = self.0.try_send(method, &path, &headers, r#"{"content": "sesame"}"#).await;
        }
        self.send("SESAME", &path, PROBE.into()).await;
    }

    /// Invokes each trigger with items, unreadable ones among them, with a run of a timer, and with what is
    /// no invocation. Returns the answers, which the host logs.
    async fn invoke_all<A: AppUnderTest>(&self, world: &World<A>) -> Vec<String> {
        let attempt = Attempt::default();
        let mut answers = Vec::new();
        let app = A::program().describe().unwrap();
        for function in world.functions.functions() {
            let body = match &function.trigger {
                FunctionTrigger::Http(_) => continue,
                FunctionTrigger::Timer(_) => wire::timer(function, None, &attempt),
                FunctionTrigger::Cosmos(_) => {
                    let own = app.projections().by_function(&function.name).unwrap();
                    let mut documents = world.items(own.container_id()).await;
                    let mut item = documents.first().cloned().unwrap_or_else(|| json!({}));
                    item["version"] = PROBE.into();
                    // Log lines have ids, and an id may be made of a text, as a slug is.
                    item["id"] = "unreadable".into();
                    let bad = json!({"id": "bad", "type": PROBE});
                    documents.extend([item, json!(PROBE), json!([PROBE]), bad]);
                    let page = wire::page(function, &documents).unwrap();
                    wire::documents(function, &page, &attempt)
                }
            };
            let [list, unlike] = [json!([PROBE]), json!({"Data": {"a": PROBE}})];
            for body in [body, PROBE.to_owned(), list.to_string(), unlike.to_string()] {
                let headers = [("x-azure-functions-invocationid", "an-invocation"), HEADERS[0]];
                let path = format!("/{}", function.name);
                answers.push(self.0.send("POST", &path, &headers, body).await.text);
            }
        }
        answers
    }

    /// Returns the output. It has no value of the sign-in.
    async fn end(mut self) -> Vec<String> {
        self.0.terminate().await;
        let output = self.0.output();
        for (name, value) in self.1.iter().filter(|(name, _)| *name != "content-type") {
            let told = output.iter().find(|line| line.contains(value));
            assert_eq!(told, None, "{name} is in the output");
        }
        output
    }
}
