//! Answers with the headers of the service.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE,
};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Touched,
    call::{demands_newest, header, reads},
    scope::Scope,
};
use crate::{
    Refusal,
    engine::{Lsn, Partition},
};

/// An answer that is being made.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) charge: f64,
    pub(super) touched: Touched,
}

impl Answer {
    pub(super) fn new(status: u16) -> Self {
        let (headers, body) = (HeaderMap::with_capacity(24), Bytes::new());
        Self { status, headers, body, charge: 1.0, touched: Touched::default() }
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { body: body.to_string().into(), ..Self::new(status) }
    }

    /// Returns the answer of a resource: its JSON, with the ETag.
    pub(super) fn resource(status: u16, json: &Value) -> Self {
        let answer = Self::json(status, json);
        match json["_etag"].as_str() {
            Some(etag) => answer.etag(etag),
            None => answer,
        }
    }

    /// Returns the page of a feed from its members, as text JSON each.
    pub(super) fn feed<T: AsRef<[u8]>>(rid: &str, list: &str, members: &[T]) -> Self {
        let bytes: usize = members.iter().map(|member| member.as_ref().len() + 1).sum();
        let mut body = Vec::with_capacity(bytes + rid.len() + list.len() + 40);
        body.extend_from_slice(format!("{{\"_rid\":{},\"{list}\":[", json!(rid)).as_bytes());
        for (place, member) in members.iter().enumerate() {
            if place > 0 {
                body.push(b',');
            }
            body.extend_from_slice(member.as_ref());
        }
        body.extend_from_slice(format!("],\"_count\":{}}}", members.len()).as_bytes());
        Self { body: body.into(), ..Self::new(200) }.count(members.len())
    }

    pub(super) fn count(mut self, members: usize) -> Self {
        self.touched.items_returned = u32::try_from(members).unwrap_or(u32::MAX);
        self.header("x-ms-item-count", &members.to_string())
    }

    pub(super) fn refusal(refusal: &Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status).ok();
        let code = match status.and_then(|it| it.canonical_reason()).unwrap_or_default() {
            "Payload Too Large" => "RequestEntityTooLarge".to_owned(),
            reason => reason.replace(' ', ""),
        };
        let answer = Self::json(refusal.status, &json!({"code": code, "message": refusal.message}));
        match refusal.sub_status {
            0 => answer,
            sub_status => answer.header("x-ms-substatus", &sub_status.to_string()),
        }
    }

    /// Adds a header. A value that no header can have is left out.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub(super) fn etag(self, etag: &str) -> Self {
        self.header("etag", etag)
    }

    pub(super) fn continuation(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.header("x-ms-continuation", token),
            None => self,
        }
    }

    pub(super) fn charge(self, charge: f64) -> Self {
        Self { charge, ..self }
    }

    /// Adds where a resource is, by which SDKs keep the session token of a container.
    pub(super) fn owner(self, path: &str, rid: &str) -> Self {
        let path = utf8_percent_encode(path, CONTROLS).to_string();
        self.header("x-ms-alt-content-path", &path).header("x-ms-content-path", rid)
    }

    /// Adds the state of one physical partition.
    pub(super) fn partition(self, id: u32, lsn: Lsn) -> Self {
        let number = lsn.to_string();
        self.header("x-ms-session-token", &format!("{id}:-1#{lsn}"))
            .header("x-ms-documentdb-partitionkeyrangeid", &id.to_string())
            .header("lsn", &number)
            .header("x-ms-cosmos-llsn", &number)
            .header("x-ms-global-committed-lsn", &number)
            .header("x-ms-quorum-acked-lsn", &number)
            .header("x-ms-cosmos-quorum-acked-llsn", &number)
    }

    pub(super) fn item_lsn(self, lsn: Lsn) -> Self {
        let lsn = lsn.to_string();
        self.header("x-ms-item-lsn", &lsn).header("x-ms-cosmos-item-llsn", &lsn)
    }

    /// Adds the state of the physical partitions of a request.
    pub(super) fn scope(self, scope: &Scope) -> Self {
        match &scope.partitions[..] {
            [one] => self.partition(one.id, one.lsn),
            all => self.session(all),
        }
    }

    /// Adds the session tokens of physical partitions.
    pub(super) fn session(self, partitions: &[Partition]) -> Self {
        let tokens = partitions.iter().map(|one| format!("{}:-1#{}", one.id, one.lsn));
        self.header("x-ms-session-token", &tokens.collect::<Vec<_>>().join(","))
    }

    pub(super) fn into_response(mut self, request: &Request<Bytes>) -> Response<Bytes> {
        if !self.body.is_empty() && !self.headers.contains_key(CONTENT_TYPE) {
            self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let activity = header(request, "x-ms-activity-id").map(str::to_owned);
        let activity = activity.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        // A read of the latest committed state asks a quorum of replicas.
        let is_doubled = reads(request) && demands_newest(request);
        let charge = if is_doubled { 2.0 * self.charge } else { self.charge };
        let answer = self
            .header("x-ms-activity-id", &activity)
            .header("x-ms-request-charge", &format!("{charge:.2}"))
            .header("x-ms-request-duration-ms", "0.1")
            .header("x-ms-schemaversion", "1.19")
            .header("x-ms-version", "2020-07-15")
            .header("x-ms-gatewayversion", "version=2.14.0")
            .header("x-ms-serviceversion", "version=2.14.0.0")
            .header("x-ms-number-of-read-regions", "0")
            .header("cache-control", "no-store, no-cache");
        let mut response = Response::new(answer.body);
        *response.status_mut() =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = answer.headers;
        response.extensions_mut().insert(answer.touched);
        response
    }
}
