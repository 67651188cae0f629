//! Demo data: small readable data sets, loaded through the API.
//!
//! Each domain has one, in `src/<domain>/demo.json` or in its crate's `domains/<domain>/src/demo.json`:
//!
//! ```json
//! {
//!   "about": "2 posts of one person",
//!   "requests": [
//!     {"create": "users/ada", "body": {"username": "ada"}},
//!     {"post": "posts/p1/comments", "body": {"userId": "ada", "content": "A comment"}},
//!     {"put": "posts/p1/likes/ada"}
//!   ],
//!   "shows": [{"get": "feed", "items": [{"id": "p1", "commentCount": 1}]}],
//!   "try": "feed?limit=5"
//! }
//! ```
//!
//! A text of a body that begins with `{3 days ago}` begins with that date instead, in UTC:
//! `{3 days ago}T08:30:00Z` is `2026-11-19T08:30:00Z` on 22 November.
//!
//! The requests are sent in their order. Each is safe to repeat, so loading a data set twice adds
//! nothing twice:
//!
//! | request | is sent as |
//! | --- | --- |
//! | `create` | `PUT` with `If-None-Match: *`; an item that exists stays as it is |
//! | `put` | `PUT` |
//! | `post` | `POST` with an `Idempotency-Key` that is made from path and body |
//!
//! Then the loader waits until the lists of `shows` have all these items: the change feed brings
//! their copies. An item of a list matches when it has the fields that are named, a number that is
//! at least as large.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http::{Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value};
use time::{Date, OffsetDateTime};
use uuid::Uuid;

use crate::client::{Call, Client, Reply};

/// The data set of a domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Name of the domain and of its folder.
    #[serde(skip)]
    pub domain: String,
    /// Its content, in a few words.
    pub about: String,
    pub(crate) requests: Vec<DemoRequest>,
    shows: Vec<Shown>,
    /// A request to try, such as `feed?limit=5`.
    #[serde(rename = "try")]
    pub to_try: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DemoRequest {
    #[serde(flatten)]
    target: DemoTarget,
    #[serde(default)]
    body: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DemoTarget {
    Create(String),
    Put(String),
    Post(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    get: String,
    items: Vec<Map<String, Value>>,
}

/// The time in which the change feed must bring all items.
const SHOWN_DEADLINE: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Demo {
    /// Reads the data sets of the project in `root`, in the order of their domains' names: those of
    /// `domains`, or all if it is empty.
    ///
    /// # Errors
    /// If the project or a domain has no data set, or one cannot be read.
    pub fn read_all(root: &Path, domains: &[String]) -> anyhow::Result<Vec<Self>> {
        let found = files(root);
        let shown = root.display();
        for domain in domains {
            ensure!(
                found.iter().any(|(name, _)| name == domain),
                "--demo {domain}: there is no demo.json of that domain in {shown}"
            );
        }
        ensure!(!found.is_empty(), "--demo: there is no demo.json of a domain in {shown}");
        found
            .into_iter()
            .filter(|(name, _)| domains.is_empty() || domains.contains(name))
            .map(|(name, path)| {
                let demo = std::fs::read(&path).map_err(anyhow::Error::from);
                let demo = demo.and_then(|text| Ok(serde_json::from_slice::<Self>(&text)?));
                let demo = demo.with_context(|| path.display().to_string())?;
                Ok(Self { domain: name, ..demo })
            })
            .collect()
    }

    /// Sends all requests. Calls `sent` after each.
    ///
    /// # Errors
    /// If an answer is no success.
    pub async fn send(&self, client: &Client, sent: impl Fn()) -> anyhow::Result<()> {
        let today = OffsetDateTime::now_utc().date();
        for request in &self.requests {
            ask(client, &request.call(today)).await?;
            sent();
        }
        Ok(())
    }

    /// Waits until all lists show their items.
    ///
    /// # Errors
    /// If a list does not show them in time.
    pub async fn wait(&self, client: &Client) -> anyhow::Result<()> {
        let started = Instant::now();
        for shown in &self.shows {
            while let Some(missing) = shown.missing(client).await? {
                if started.elapsed() > SHOWN_DEADLINE {
                    bail!(
                        "GET /api/{} does not show {} after {} s: see above for failed invocations",
                        shown.get,
                        Value::from(missing.clone()),
                        SHOWN_DEADLINE.as_secs()
                    );
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }
}

impl DemoRequest {
    fn call(&self, today: Date) -> Call {
        let put = |path: &str| Call::new(Method::PUT, format!("/api/{path}"));
        let call = match &self.target {
            DemoTarget::Create(path) => put(path).header(header::IF_NONE_MATCH, "*"),
            DemoTarget::Put(path) => put(path),
            DemoTarget::Post(path) => {
                Call::new(Method::POST, format!("/api/{path}")).key(self.key().to_string())
            }
        };
        match &self.body {
            Some(body) => call.json(dated(body, today)),
            None => call,
        }
    }

    /// Returns a key that only the same request has.
    fn key(&self) -> Uuid {
        let (DemoTarget::Create(path) | DemoTarget::Put(path) | DemoTarget::Post(path)) =
            &self.target;
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{path}\n{body}").as_bytes())
    }
}

fn dated(value: &Value, today: Date) -> Value {
    match value {
        Value::String(text) => dated_text(text, today).unwrap_or_else(|| text.clone()).into(),
        Value::Array(values) => values.iter().map(|value| dated(value, today)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), dated(value, today))).collect()
        }
        other => other.clone(),
    }
}

fn dated_text(text: &str, today: Date) -> Option<String> {
    let (days, rest) = text.strip_prefix('{')?.split_once(" days ago}")?;
    let date = today.checked_sub(time::Duration::days(days.parse::<u16>().ok()?.into()))?;
    Some(format!("{date}{rest}"))
}

impl Shown {
    async fn missing(&self, client: &Client) -> anyhow::Result<Option<&Map<String, Value>>> {
        let list = ask(client, &Call::get(format!("/api/{}", self.get))).await?.json();
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(self.items.iter().find(|wanted| !items.iter().any(|item| matches(item, wanted))))
    }
}

async fn ask(client: &Client, call: &Call) -> anyhow::Result<Reply> {
    let Call { method, path, .. } = call;
    let reply = client.send(call).await;
    let reply = reply.with_context(|| format!("the demo's {method} {path} got no answer"))?;
    // An item that exists stays as it is.
    let is_there = reply.status == StatusCode::PRECONDITION_FAILED;
    ensure!(
        reply.status.is_success() || is_there,
        "the demo's {method} {path} was answered with {}: {}",
        reply.status,
        reply.text()
    );
    Ok(reply)
}

/// Returns true if the item has all these fields, and numbers that are at least as large: a second load
/// finds the additions of other users.
fn matches(item: &Value, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(name, wanted)| match (item[name].as_f64(), wanted.as_f64()) {
        (Some(number), Some(wanted)) => number >= wanted,
        _ => item[name] == *wanted,
    })
}

fn files(root: &Path) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for (folder, file) in [("src", "demo.json"), ("domains", "src/demo.json")] {
        let domains = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        for domain in domains.filter(|domain| domain.path().join(file).is_file()) {
            let name = domain.file_name().to_string_lossy().into_owned();
            files.push((name, domain.path().join(file)));
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_begins_with_days_ago_gets_that_date() {
        let today = time::macros::date!(2026 - 03 - 02);
        let body = json!({ "at": "{3 days ago}T08:30:00Z", "n": 1, "of": ["{0 days ago}", "{x}"] });
        let expected = json!({ "at": "2026-02-27T08:30:00Z", "n": 1, "of": ["2026-03-02", "{x}"] });
        assert_eq!(dated(&body, today), expected);
    }

    #[test]
    fn an_item_matches_with_its_fields_and_with_numbers_at_least_as_large() {
        let wanted = json!({ "id": "p1", "n": 2 });
        let matches = |item: Value| matches(&item, wanted.as_object().unwrap());
        assert!(matches(json!({ "id": "p1", "n": 2, "other": null })));
        assert!(matches(json!({ "id": "p1", "n": 3 })));
        assert!(!matches(json!({ "id": "p1", "n": 1 })));
        assert!(!matches(json!({ "id": "p2", "n": 2 })));
    }
}
