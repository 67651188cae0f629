//! The rows of `docs/api.md`, from the OpenAPI document of the app.

use std::{fs, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::run;

const PAGE: &str = "docs/api.md";

const HEAD: &str = "| request | body | answer | key |\n| --- | --- | --- | --- |\n";

const METHODS: [&str; 4] = ["get", "put", "post", "delete"];

pub(crate) fn api_page(check: bool) -> anyhow::Result<()> {
    // Not `--package`: this shares one build with `cargo local`.
    let mut command = Command::new(env!("CARGO"));
    let output = run(command.args(["run", "--quiet", "--bin", "tributary", "--", "openapi"]))?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let page = fs::read_to_string(PAGE).context("run this in the workspace's root")?;
    let wanted = with_rows(&page, &document)?;
    if wanted != page {
        ensure!(!check, "{PAGE} lacks rows, or has too many. Run: cargo xtask functions");
        fs::write(PAGE, wanted)?;
    }
    Ok(())
}

/// Returns the page with the rows of the document, a table for each marker `<!-- functions: TAG -->`.
fn with_rows(page: &str, document: &Value) -> anyhow::Result<String> {
    const MARKER: &str = "<!-- functions: ";
    let mut parts = page.split(MARKER);
    let mut wanted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tag, rest) = part.split_once(" -->\n").context("a marker has no end")?;
        let end =
            if rest.starts_with('|') { rest.find("\n\n").map(|end| end + 1) } else { Some(0) };
        let after = end.map_or("", |end| &rest[end..]);
        let rows = rows(document, tag);
        ensure!(!rows.is_empty(), "{PAGE} has a table for {tag}, of which there is no function");
        wanted.extend([MARKER, tag, " -->\n", HEAD, &rows, after]);
    }
    let operations = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let operations = operations.flat_map(|path| METHODS.map(|method| &path[method]));
    for tag in operations.filter_map(|operation| operation["tags"][0].as_str()) {
        let marker = format!("{MARKER}{tag} -->");
        ensure!(wanted.contains(&marker), "{PAGE} has no table for {tag}. Add the line: {marker}");
    }
    Ok(wanted)
}

fn rows(document: &Value, tag: &str) -> String {
    let mut rows = String::new();
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        let operations = METHODS.iter().map(|method| (method, &operations[method]));
        for (method, operation) in operations.filter(|(_, one)| one["tags"][0] == tag) {
            let request = format!("`{} {path}{}`", method.to_uppercase(), query(operation));
            let keys = operation["security"].as_array().is_some_and(|keys| !keys.is_empty());
            let key = if keys { "yes" } else { "" };
            let cells = [request, body(operation), answer(operation), key.to_owned()];
            rows.extend(
                cells.iter().flat_map(|cell| [if cell.is_empty() { "|" } else { "| " }, cell, " "]),
            );
            rows.push_str("|\n");
        }
    }
    rows
}

/// Returns the parameters of the query string: `?limit=&cursor=`.
fn query(operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let names = parameters
        .filter(|parameter| parameter["in"] == "query")
        .filter_map(|parameter| parameter["name"].as_str());
    let names: Vec<String> = names.map(|name| format!("{name}=")).collect();
    if names.is_empty() { String::new() } else { format!("?{}", names.join("&")) }
}

/// Returns the fields of the body, optional ones last.
fn body(operation: &Value) -> String {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut fields: Vec<String> = required.clone().map(|name| format!("`{name}`")).collect();
    let all = schema["properties"].as_object().into_iter().flatten();
    let others =
        all.map(|(name, _)| name).filter(|name| !required.clone().any(|known| known == *name));
    fields.extend(others.map(|name| format!("`{name}` (optional)")));
    fields.join(", ")
}

/// Returns the status of each successful answer, and its body.
fn answer(operation: &Value) -> String {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let good: Vec<_> = responses.filter(|(status, _)| status.starts_with('2')).collect();
    let statuses: Vec<&str> = good.iter().map(|(status, _)| status.as_str()).collect();
    let mut schemas = good.iter().map(|(_, one)| &one["content"]["application/json"]["schema"]);
    let what = schemas.find(|schema| !schema.is_null()).map(named).unwrap_or_default();
    [&statuses.join(", "), what.as_str()].join(" ").trim_end().to_owned()
}

/// Returns the name of a schema: of its type, or of the type of its items.
fn named(schema: &Value) -> String {
    let of = |schema: &Value| {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.unwrap_or_default().to_owned()
    };
    let name = of(schema);
    match name.strip_suffix("Page") {
        Some(item) => format!("page of {item}"),
        None if name.is_empty() => {
            format!("`items` of {}", of(&schema["properties"]["items"]["items"]))
        }
        None => name,
    }
}
