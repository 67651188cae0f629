//! What the address of a request names.
//!
//! The routes are those of the REST API: <https://learn.microsoft.com/rest/api/cosmos-db/resource-uri-syntax-for-rest>.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request};

use super::{
    Kind,
    call::{is, is_query, name},
};
use crate::{
    Refusal,
    engine::{ContainerId, Definition, Name, Resource, View},
};

/// The lengths of the `_rid`s of databases, containers and items, in bytes.
const RID_BYTES: [usize; 3] = [4, 8, 16];

/// A container that a request names.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) id: ContainerId,
    pub(super) definition: Arc<Definition>,
    /// The name of its database.
    pub(super) database: String,
}

impl Container {
    pub(super) fn path(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.definition.name)
    }

    pub(super) fn rid(&self) -> &str {
        self.definition.json["_rid"].as_str().unwrap_or_default()
    }
}

/// Returns true for a text of the form of a `_rid`. The service writes `-` where base64 has `/`.
pub(super) fn is_rid(text: &str) -> bool {
    let decoded = BASE64_STANDARD.decode(text.replace('-', "/"));
    decoded.is_ok_and(|bytes| RID_BYTES.contains(&bytes.len()))
}

/// Returns the names that a segment may be: a name, and a `_rid`.
pub(super) fn names(segment: &str) -> impl Iterator<Item = Name<'_>> {
    let rid = is_rid(segment).then_some(Name::Rid(segment));
    std::iter::once(Name::Id(segment)).chain(rid)
}

pub(super) fn database(view: &View, segment: &str) -> Option<Resource> {
    names(segment).find_map(|name| view.database(name))
}

/// Returns the container that two segments name.
pub(super) fn container(view: &View, database: &str, container: &str) -> Option<Container> {
    names(database).find_map(|parent| {
        let (id, definition) = names(container).find_map(|name| view.container(parent, name))?;
        let database = match parent {
            Name::Id(name) => name.to_owned(),
            Name::Rid(_) => view.database(parent)?.json["id"].as_str()?.to_owned(),
        };
        Some(Container { id, definition, database })
    })
}

/// Returns the kind of a request for the items of a container, of which the last segments of the path are given.
pub(super) fn kind(request: &Request<Bytes>, segments: &[&str]) -> Option<Kind> {
    let kind = match (request.method(), segments) {
        (&Method::GET, ["docs"]) if request.headers().contains_key(name::CHANGE_FEED) => {
            Kind::ChangeFeed
        }
        (&Method::GET, ["docs"]) => Kind::ReadFeed,
        (&Method::POST, ["docs"]) if is(request, name::PLAN) => return None,
        (&Method::POST, ["docs"]) if is_query(request) => Kind::Query,
        (&Method::POST, ["docs"]) if is(request, name::BATCH) => {
            let atomic = request.headers().get("x-ms-cosmos-batch-atomic");
            let is_bulk = atomic.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"false"));
            if is_bulk { Kind::Bulk } else { Kind::Batch }
        }
        (&Method::POST, ["docs"]) if is(request, name::UPSERT) => Kind::Upsert,
        (&Method::POST, ["docs"]) => Kind::Create,
        (&Method::GET, ["docs", _]) => Kind::Read,
        (&Method::PUT, ["docs", _]) => Kind::Replace,
        (&Method::PATCH, ["docs", _]) => Kind::Patch,
        (&Method::DELETE, ["docs", _]) => Kind::Delete,
        (&Method::POST, ["operations", "partitionkeydelete"]) => Kind::DeletePartition,
        _ => return None,
    };
    Some(kind)
}

/// Returns the refusal of a request for the items of a container that does not exist: by the sub-status an SDK knows
/// that what it keeps about the container is stale.
pub(super) fn owner_not_found() -> Refusal {
    Refusal::new(404, r#"Message: {"Errors":["Owner resource does not exist"]}"#)
        .with_sub_status(1003)
}
