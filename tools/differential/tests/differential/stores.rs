//! The two that are compared, in process, and a client of each.

use std::collections::BTreeMap;

use azure_core::{
    Bytes,
    http::{
        Url,
        headers::{HeaderName, HeaderValue},
    },
};
use azure_data_cosmos_driver::in_memory_emulator::{
    ContainerConfig, InMemoryEmulatorHttpClient, VirtualAccountConfig, VirtualRegion,
};
use cosmos_store::{
    engine::Engine,
    http::{Options, Service},
};
use serde_json::Value;

use crate::requests::Request;

const KEY: &str = r#"{"paths": ["/pk"], "kind": "Hash", "version": 2}"#;
const MAX_PAGES: usize = 100;

/// What an answer has that is compared.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The status, the headers and the body of an answer.
pub(crate) struct Raw {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Bytes,
}

pub(crate) trait Endpoint {
    async fn answer(&self, request: &Request) -> Raw;
}

pub(crate) struct Store(Service);

impl Store {
    pub(crate) async fn open() -> Self {
        let options = Options { key: None, ..Options::default() };
        let store = Self(Service::new(Engine::open(None).unwrap(), options));
        let container = format!(r#"POST /dbs/d/colls >> {{"id": "c", "partitionKey": {KEY}}}"#);
        for request in [r#"POST /dbs >> {"id": "d"}"#, &container] {
            assert_eq!(store.answer(&Request::new(request)).await.status, 201);
        }
        store
    }
}

impl Endpoint for Store {
    async fn answer(&self, request: &Request) -> Raw {
        let mut sent = http::Request::builder().method(&*request.method).uri(&request.path);
        for (name, value) in &request.headers {
            sent = sent.header(name, value);
        }
        let answer = self.0.answer(sent.body(request.body.clone().into()).unwrap(), None).await;
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        Raw {
            status: answer.status().as_u16(),
            headers: answer.headers().iter().map(header).collect(),
            body: answer.into_body(),
        }
    }
}

pub(crate) struct Emulator(InMemoryEmulatorHttpClient);

impl Emulator {
    const URL: &str = "http://127.0.0.1:8081";

    pub(crate) fn open() -> Self {
        let region = VirtualRegion::new("East US", Url::parse(Self::URL).unwrap());
        let emulator =
            InMemoryEmulatorHttpClient::new(VirtualAccountConfig::new(vec![region]).unwrap());
        let one_partition = ContainerConfig::new().with_partition_count(1).build().unwrap();
        let key = serde_json::from_str(KEY).unwrap();
        emulator.store().create_database("d");
        emulator.store().create_container_with_config("d", "c", key, one_partition);
        Self(emulator)
    }
}

impl Endpoint for Emulator {
    async fn answer(&self, request: &Request) -> Raw {
        let url = Url::parse(&format!("{}{}", Self::URL, request.path)).unwrap();
        let mut sent = azure_core::http::Request::new(url, request.method.parse().unwrap());
        for (name, value) in &request.headers {
            sent.headers_mut()
                .insert(HeaderName::from(name.clone()), HeaderValue::from(value.clone()));
        }
        sent.set_body(request.body.clone());
        let (status, headers, body) = self.0.execute_request(&sent).await.unwrap().deconstruct();
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), value.as_str().to_owned())
        };
        let headers = headers.iter().map(header).collect();
        Raw { status: u16::from(status), headers, body: body.collect().await.unwrap() }
    }
}

/// A client, which remembers ETags of point reads, and where it is in the change feed.
pub(crate) struct Client<E> {
    endpoint: E,
    known: BTreeMap<String, String>,
    has_sent_batch: bool,
}

impl<E: Endpoint> Client<E> {
    pub(crate) fn new(endpoint: E) -> Self {
        Self { endpoint, known: BTreeMap::new(), has_sent_batch: false }
    }

    pub(crate) async fn send(&mut self, request: &Request) -> Answer {
        let is_feed = request.has("a-im");
        self.has_sent_batch |= request.has("x-ms-cosmos-is-batch-request");
        // Without ORDER BY one orders by id, and one by creation. In the feed, the order within a batch is documented
        // nowhere.
        let is_query = request.has("x-ms-documentdb-isquery");
        let sorts = if is_feed {
            self.has_sent_batch
        } else {
            request.method == "GET" || is_query && !request.body.contains("ORDER BY")
        };
        let mut sent = self.with_known(request);
        let mut documents = Vec::new();
        for _ in 0..MAX_PAGES {
            let raw = self.endpoint.answer(&sent).await;
            let mut body: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
            let etag = raw.headers.get("etag").filter(|_| request.method == "GET");
            let name = match body.get("id").and_then(Value::as_str) {
                Some(id) => format!("<etag of {id}>"),
                None => "<feed>".to_owned(),
            };
            self.known.extend(etag.map(|etag| (name, etag.clone())));
            let page = body.get_mut("Documents").and_then(Value::as_array_mut);
            let is_page = page.is_some();
            documents.extend(page.into_iter().flat_map(std::mem::take));
            let next = if is_feed {
                ("if-none-match", etag)
            } else {
                ("x-ms-continuation", raw.headers.get("x-ms-continuation"))
            };
            if let (true, (name, Some(token))) = (is_page, next) {
                sent.headers.retain(|(header, _)| header != name);
                sent.headers.push((name.to_owned(), token.clone()));
                continue;
            }
            let (status, mut body) = match raw.status {
                400.. => (raw.status, Value::Null),
                // The feed was read to its end.
                304 if !documents.is_empty() => (200, documents.into()),
                status if is_page => (status, documents.into()),
                status => (status, body),
            };
            normalize(&mut body);
            if let (true, Some(documents)) = (sorts, body.as_array_mut()) {
                documents.sort_by_key(Value::to_string);
            }
            return Answer { status, body };
        }
        panic!("more than {MAX_PAGES} pages: {sent:?}");
    }

    fn with_known(&self, request: &Request) -> Request {
        let mut request = request.clone();
        request.headers.retain_mut(|(_, value)| match self.known.get(value) {
            Some(known) => {
                value.clone_from(known);
                true
            }
            // From the beginning.
            None => value != "<feed>",
        });
        for (name, etag) in &self.known {
            request.body = request.body.replace(name, &etag.replace('"', "\\\""));
        }
        request
    }
}

/// Removes what differs between any two stores, and writes each number in one way.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(all) => {
            for name in
                ["_rid", "_self", "_etag", "_ts", "_attachments", "_lsn", "eTag", "requestCharge"]
            {
                all.remove(name);
            }
            all.values_mut().for_each(normalize);
        }
        Value::Array(all) => all.iter_mut().for_each(normalize),
        Value::Number(number) => *value = number.as_f64().into(),
        _ => {}
    }
}
