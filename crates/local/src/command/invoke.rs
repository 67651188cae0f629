//! `cargo local invoke`: one invocation of a function of the running app.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::{HeaderName, Method, header};
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::api_document::{ApiDocument, ApiOperation};
use super::cli::InvokeOptions;
use super::host_client::HostClient;
use crate::client::{Call, Reply};
use crate::host::{EndedInvocation, HostEvent, HostedFunction, HostedTrigger, ManualResult};

/// The headers of an answer that are shown.
const SHOWN_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::ETAG, header::LOCATION, header::RETRY_AFTER];
const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The time in which the lines of an ended invocation arrive: the handler writes them to a pipe.
const LINES_DEADLINE: Duration = Duration::from_millis(250);

/// A request to an HTTP function.
struct ExampleRequest {
    method: Method,
    path: String,
    body: Option<Bytes>,
}

/// The lines of the handler, and the invocations that have ended, while an invocation runs.
struct FollowedEvents(mpsc::UnboundedReceiver<HostEvent>);

/// Invokes a function and shows the result.
///
/// # Errors
/// When no app runs, the input cannot be read, or the invocation fails.
pub(super) async fn invoke(options: InvokeOptions) -> anyhow::Result<()> {
    let InvokeOptions { function, documents, body, path, dry_run, host, example: _ } = options;
    let host = HostClient::new(host)?;
    let HostedFunction { name, trigger } = host.function(&function).await?;
    match trigger {
        HostedTrigger::Http { methods, route } => {
            ensure!(
                documents.is_none(),
                "{name} is an HTTP function: give --body, not --documents"
            );
            let document = host.openapi().await?.map(ApiDocument::new);
            let mut request = example_request(&name, &methods, &route, path, document.as_ref())?;
            if let Some(file) = &body {
                request.body = Some(read_file(file)?.into());
            }
            if dry_run {
                return request.print();
            }
            call(&host, &name, request).await
        }
        HostedTrigger::CosmosDb { container, last_batch } => {
            ensure!(
                body.is_none() && path.is_none(),
                "{name} has a Cosmos DB trigger: give --documents"
            );
            let documents = match &documents {
                Some(file) => parse_documents(&read_file(file)?)
                    .with_context(|| format!("{}: documents are a JSON array or JSON Lines", file.display()))?,
                None => last_batch.with_context(|| {
                    format!(
                        "the change feed has brought {name} no batch since the start: change an item of \
                         {container}, or give --documents"
                    )
                })?,
            };
            if dry_run {
                return print_json(&serde_json::to_vec(&documents)?);
            }
            run(&host, &name, Some(&documents)).await
        }
        HostedTrigger::Timer { schedule } => {
            let has_input = documents.is_some() || body.is_some() || path.is_some();
            ensure!(!has_input, "{name} is a timer: it takes no input");
            if dry_run {
                eprintln!("{name} is a timer ({schedule}): it takes no input");
                return Ok(());
            }
            run(&host, &name, None).await
        }
    }
}

/// Makes a request of the examples in the OpenAPI document.
fn example_request(
    function: &str,
    methods: &[String],
    route: &str,
    path: Option<String>,
    document: Option<&ApiDocument>,
) -> anyhow::Result<ExampleRequest> {
    let operation = document.and_then(|document| document.operation(function));
    let method = methods.first().map_or(Ok(Method::GET), |method| method.parse())?;
    let example = match (&operation, path) {
        (_, Some(path)) => path,
        (Some(operation), None) => operation.example_path(),
        (None, None) if !route.contains('{') => route.to_owned(),
        (None, None) => bail!("no OpenAPI document has an example for {route}: give --path"),
    };
    ensure!(example.starts_with('/'), "--path {example}: a path begins with /, such as {route}");
    let body = operation.as_ref().and_then(ApiOperation::example_body);
    let body = body.map(|body| serde_json::to_vec_pretty(&body)).transpose()?;
    let method = operation.map_or(method, |operation| operation.method);
    Ok(ExampleRequest { method, path: example, body: body.map(Bytes::from) })
}

impl ExampleRequest {
    fn print(&self) -> anyhow::Result<()> {
        let mut text = format!("{} {}\n", self.method, self.path).into_bytes();
        if let Some(body) = &self.body {
            text.extend_from_slice(b"content-type: application/json\n\n");
            text.extend_from_slice(body);
            text.push(b'\n');
        }
        print(&text)
    }
}

/// Sends a request and shows the answer.
async fn call(host: &HostClient, function: &str, request: ExampleRequest) -> anyhow::Result<()> {
    let ExampleRequest { method, path, body } = request;
    let events = FollowedEvents::begin(host).await?;
    // It tells the invocation from others.
    let trace_parent = format!("00-{}-{}-01", hex(32), hex(16));
    let mut request = Call::new(method, path).header(TRACE_PARENT, &trace_parent);
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let request = Call { body, ..request };
    anstream::eprintln!("{} {}", request.method, request.path);
    let started = Instant::now();
    let answer = host.send(&request).await?;
    let ms = started.elapsed().as_millis();
    let Reply { status, body, .. } = &answer;
    let charge = answer.header(&REQUEST_CHARGE);
    let charge = charge.map_or_else(String::new, |charge| format!(", {charge} RU"));
    anstream::eprintln!("→ {status} in {ms} ms{charge}");
    for name in &SHOWN_HEADERS {
        if let Some(value) = answer.header(name) {
            anstream::eprintln!("  {name}: {value}");
        }
    }
    events.print_lines(|ended| ended.trace_parent.as_ref() == Some(&trace_parent)).await;
    print_json(body)?;
    ensure!(!status.is_client_error() && !status.is_server_error(), "{function} answered {status}");
    Ok(())
}

/// Runs a function that no request starts, and shows the result.
async fn run(host: &HostClient, function: &str, documents: Option<&[Value]>) -> anyhow::Result<()> {
    let events = FollowedEvents::begin(host).await?;
    let result = host.run(function, documents).await?;
    let ManualResult { id, duration_ms, done, charge, logs, failure } = result;
    let n_lines = events.print_lines(|ended| ended.id == id).await;
    if n_lines == 0 {
        for line in logs {
            anstream::eprintln!("  {line}");
        }
    }
    let n_documents = documents.map(<[Value]>::len);
    let what = n_documents
        .map_or_else(String::new, |n| format!("{n} document{}", if n == 1 { "" } else { "s" }));
    let done = done.filter(|done| !done.is_empty()).unwrap_or_default();
    let parts: Vec<_> = [what, done].into_iter().filter(|part| !part.is_empty()).collect();
    let charge = charge.map_or_else(String::new, |charge| format!(", {charge} RU"));
    if let Some(failure) = failure {
        bail!("{function} failed after {duration_ms} ms: {failure}");
    }
    let parts = if parts.is_empty() { String::new() } else { format!(" {}", parts.join(", ")) };
    anstream::eprintln!("{function}:{parts} succeeded in {duration_ms} ms{charge}");
    Ok(())
}

impl FollowedEvents {
    async fn begin(host: &HostClient) -> anyhow::Result<Self> {
        let mut events = host.events().await?;
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Ok(Self(receiver))
    }

    /// Prints the lines that the handler has written for an ended invocation; returns their number.
    async fn print_lines(mut self, is_it: impl Fn(&EndedInvocation) -> bool) -> usize {
        let mut lines = Vec::new();
        let mut id = None;
        let deadline = tokio::time::Instant::now() + LINES_DEADLINE;
        while let Ok(Some(event)) = tokio::time::timeout_at(deadline, self.0.recv()).await {
            match event {
                HostEvent::Line { text } => lines.push(text),
                HostEvent::Ended(ended) if is_it(&ended) => id = Some(ended.id),
                HostEvent::Ended(_) | HostEvent::Skipped { .. } => {}
            }
        }
        let Some(id) = id else { return 0 };
        let lines = lines.iter().filter(|line| line.contains(&id));
        lines.inspect(|line| anstream::eprintln!("  {line}")).count()
    }
}

/// Reads documents: a JSON array, or values one after another.
fn parse_documents(text: &[u8]) -> anyhow::Result<Vec<Value>> {
    let values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let documents = match <[Value; 1]>::try_from(values) {
        Ok([Value::Array(documents)]) => documents,
        Ok([document]) => vec![document],
        Err(values) => values,
    };
    ensure!(!documents.is_empty(), "there is no document");
    ensure!(documents.iter().all(Value::is_object), "a document is a JSON object");
    Ok(documents)
}

fn read_file(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("stdin cannot be read")?;
    } else {
        bytes =
            std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    }
    Ok(bytes)
}

/// Prints a body to stdout; JSON is indented.
fn print_json(body: &[u8]) -> anyhow::Result<()> {
    let json = serde_json::from_slice::<Value>(body).ok();
    let mut text = json.map_or(Ok(body.to_vec()), |json| serde_json::to_vec_pretty(&json))?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    print(&text)
}

fn print(text: &[u8]) -> anyhow::Result<()> {
    std::io::stdout().write_all(text).context("stdout is closed")
}

fn hex(n_digits: usize) -> String {
    let digits = Uuid::new_v4().simple().to_string();
    digits[..n_digits].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_an_array_or_lines_or_one() {
        let two = vec![json!({ "id": "a" }), json!({ "id": "b" })];
        let array = br#"[{"id": "a"}, {"id": "b"}]"#;
        let lines = b"{\"id\": \"a\"}\n{\"id\": \"b\"}\n";
        assert_eq!(parse_documents(array).unwrap(), two);
        assert_eq!(parse_documents(lines).unwrap(), two);
        assert_eq!(parse_documents(br#"{"id": "a"}"#).unwrap(), two[..1]);
        for bad in [&b"[]"[..], b"", b"[1]", b"{\"id\": ", b"{} 1"] {
            parse_documents(bad).unwrap_err();
        }
    }
}
