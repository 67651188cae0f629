//! `cargo local invoke`: one invocation of a function of the running app.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::{HeaderName, Method, header};
use serde_json::Value;

use super::api_document::{ApiDocument, ApiOperation};
use super::cli::InvokeOptions;
use super::host_client::HostClient;
use crate::client::{Call, Reply};
use crate::host::wire::InvocationAnswer;
use crate::host::{HostedFunction, ManualResult};

const SHOWN_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::ETAG, header::LOCATION, header::RETRY_AFTER];
const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

pub(super) async fn invoke(options: InvokeOptions) -> anyhow::Result<()> {
    let InvokeOptions { function, documents, body, path, host, example: _ } = options;
    let host = HostClient::new(host)?;
    let HostedFunction { name, http, container, last_batch } = host.function(&function).await?;
    if let Some((methods, route)) = http {
        ensure!(documents.is_none(), "{name} is an HTTP function: give --body, not --documents");
        let document = host.openapi().await?.map(ApiDocument);
        let mut request = example(&name, &methods, &route, path, document.as_ref())?;
        if let Some(file) = &body {
            request.body = Some(read_file(file)?.into());
        }
        if request.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        return call(&host, &name, request).await;
    }
    ensure!(
        body.is_none() && path.is_none(),
        "no request starts {name}: give --documents, or nothing"
    );
    let Some(container) = container else {
        ensure!(documents.is_none(), "{name} is a timer: it takes no input");
        return run(&host, &name, None).await;
    };
    let documents = match &documents {
        Some(file) => parse_documents(&read_file(file)?).with_context(|| {
            format!("{}: documents are a JSON array or JSON Lines", file.display())
        })?,
        None => last_batch.with_context(|| {
            format!(
                "the change feed has brought {name} no batch since the start: change an item of \
                 {container}, or give --documents"
            )
        })?,
    };
    run(&host, &name, Some(&documents)).await
}

fn example(
    function: &str,
    methods: &[String],
    route: &str,
    path: Option<String>,
    document: Option<&ApiDocument>,
) -> anyhow::Result<Call> {
    let operation = document.and_then(|document| document.operation(function));
    let path = match (path, &operation) {
        (Some(path), _) => path,
        (None, Some(operation)) => operation.example_path(),
        (None, None) if !route.contains('{') => route.to_owned(),
        (None, None) => bail!("no OpenAPI document has an example for {route}: give --path"),
    };
    ensure!(path.starts_with('/'), "--path {path}: a path begins with /, such as {route}");
    let body = operation.as_ref().and_then(ApiOperation::example_body);
    let body = body.map(|body| serde_json::to_vec_pretty(&body)).transpose()?;
    let method = methods.first().map_or(Ok(Method::GET), |method| method.parse())?;
    let method = operation.map_or(method, |operation| operation.method);
    Ok(Call { body: body.map(Bytes::from), ..Call::new(method, path) })
}

async fn call(host: &HostClient, function: &str, request: Call) -> anyhow::Result<()> {
    anstream::eprintln!("{} {}", request.method, request.path);
    let started = Instant::now();
    let answer = host.send(&request).await?;
    let ms = started.elapsed().as_millis();
    let Reply { status, body, .. } = &answer;
    let charge = charge(answer.header(&REQUEST_CHARGE));
    anstream::eprintln!("→ {status} in {ms} ms{charge}");
    for name in &SHOWN_HEADERS {
        if let Some(value) = answer.header(name) {
            anstream::eprintln!("  {name}: {value}");
        }
    }
    print_json(body)?;
    ensure!(!status.is_client_error() && !status.is_server_error(), "{function} answered {status}");
    Ok(())
}

async fn run(host: &HostClient, function: &str, documents: Option<&[Value]>) -> anyhow::Result<()> {
    let result = host.run(function, documents).await?;
    let ManualResult { duration_ms, answer, failure } = result;
    let InvocationAnswer { done, charge: units, logs } = answer;
    for line in logs {
        anstream::eprintln!("  {line}");
    }
    if let Some(failure) = failure {
        bail!("{function} failed after {duration_ms} ms: {failure}");
    }
    let count = documents.map_or_else(String::new, |documents| match documents.len() {
        1 => "1 document".to_owned(),
        n => format!("{n} documents"),
    });
    let parts: Vec<_> =
        [count, done.unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
    let space = if parts.is_empty() { "" } else { " " };
    let (parts, charge) = (parts.join(", "), charge(units.as_deref()));
    anstream::eprintln!("{function}:{space}{parts} succeeded in {duration_ms} ms{charge}");
    Ok(())
}

fn charge(units: Option<&str>) -> String {
    units.map_or_else(String::new, |units| format!(", {units} RU"))
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
    if file != Path::new("-") {
        return std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()));
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("stdin cannot be read")?;
    Ok(bytes)
}

fn print_json(body: &[u8]) -> anyhow::Result<()> {
    let json = serde_json::from_slice::<Value>(body).ok();
    let mut text = json.map_or(Ok(body.to_vec()), |json| serde_json::to_vec_pretty(&json))?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    std::io::stdout().write_all(&text).context("stdout is closed")
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
